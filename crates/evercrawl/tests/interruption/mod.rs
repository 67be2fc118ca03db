//! Ctrl-C from outside.

use std::process::{Child, Command, Output};

/// What a program that is interrupted says, and how it ends.
pub fn interrupted(child: Child) -> Output {
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    child.wait_with_output().unwrap()
}
