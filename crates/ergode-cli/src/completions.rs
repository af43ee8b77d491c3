//! `ergode completions`.

use clap::CommandFactory;

use crate::args::{Arguments, Completions};
use crate::output::{Failed, print};

pub(crate) fn run(arguments: &Completions) -> Result<(), Failed> {
    let mut script = Vec::new();
    let command = &mut Arguments::command();
    clap_complete::generate(arguments.shell, command, "ergode", &mut script);
    print(&String::from_utf8_lossy(&script))
}
