//! `ergode completions`.

use clap::CommandFactory;

use crate::args::{Arguments, Completions};
use crate::output::Failed;

pub(crate) fn run(arguments: &Completions) -> Result<(), Failed> {
    clap_complete::generate(
        arguments.shell,
        &mut Arguments::command(),
        "ergode",
        &mut std::io::stdout(),
    );
    Ok(())
}
