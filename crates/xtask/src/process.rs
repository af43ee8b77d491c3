//! Running other programs.

use std::process::{Command, ExitStatus, Stdio};

/// Announces a step on standard error, which leaves standard output to results.
pub fn announce(step: &str) {
    eprintln!("== {step}");
}

/// Runs a command with its output shown; a non-zero exit is an error.
pub fn stream(command: &mut Command) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|error| cannot_start(command, &error))?;
    require_success(command, status)
}

/// Runs a command with all of its output on standard error.
pub fn stream_to_stderr(command: &mut Command) -> Result<(), String> {
    stream(command.stdout(std::io::stderr()))
}

/// Runs a command and returns its standard output; its standard error is shown.
pub fn capture(command: &mut Command) -> Result<String, String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| cannot_start(command, &error))?;
    require_success(command, output.status)?;
    String::from_utf8(output.stdout)
        .map_err(|_| format!("the output of `{}` is not UTF-8", describe(command)))
}

/// The program and arguments of a command, as one would type them.
pub fn describe(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot run `{}`: {error}", describe(command))
}

fn require_success(command: &Command, status: ExitStatus) -> Result<(), String> {
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{}` failed ({status})", describe(command)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let message = capture(Command::new("no-such-program").arg("--flag")).unwrap_err();
        assert!(
            message.starts_with("cannot run `no-such-program --flag`"),
            "{message}"
        );
    }
}
