//! `ergode man`.

use std::fs;

use clap::CommandFactory;

use crate::args::{Arguments, Man};
use crate::output::{Failed, shown};

pub(crate) fn run(arguments: &Man) -> Result<(), Failed> {
    let folder = &arguments.folder;
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), folder))
        .map_err(|error| Failed::other(format!("{}: {error}", shown(folder))))
}
