//! Functions of libraries for which something faster is known, and how much faster it was.
//!
//! Every factor was measured by `bench/faster.py` or what is in `bench/faster`, on virtual machines with AMD EPYC processors: of the ratios of
//! the two times on the same inputs, the least and the most. What was not measured is not here, and what is here is named as its library names
//! it: a function of the same name elsewhere is another one.

use timesink_analysis::facts::last_part;

mod go;
mod java;
mod javascript;
mod kernel;
mod native;
mod passwords;
mod php;
mod python;

/// One way to do something, and a faster one.
#[derive(Debug)]
pub struct Slow {
    /// Whose function it is and what it does.
    pub what: &'static str,
    pub from: From,
    /// Their names, of methods the last part or all of it; none: all that are from there.
    pub functions: &'static [&'static str],
    /// What does the same faster, or how once is enough.
    pub instead: &'static str,
    pub gain: Gain,
}

/// What it buys, as measured.
#[derive(Clone, Copy, Debug)]
pub enum Gain {
    /// It is so many times as fast: at least and at most.
    Times(f64, f64),
    /// It can be left out.
    Nothing,
    /// What is made could be kept, and making one takes so many milliseconds.
    Once(f64),
}

/// Where functions are from.
#[derive(Clone, Copy, Debug)]
pub enum From {
    /// A library whose file is called so, up to its version.
    Library(&'static str),
    /// A source of Python or JavaScript whose path ends so.
    Source(&'static str),
    /// Compiled into the program: templates of C++ whose names begin so.
    Template(&'static str),
    /// Compiled into the program, under its full name: packages of Go.
    Compiled,
    /// Methods of Java, by their full names.
    Java,
    /// Functions that PHP has itself.
    Php,
    Kernel,
}

/// What was measured on one day. Callers stand before what they call.
#[derive(Debug)]
pub struct Measured {
    pub on: &'static str,
    pub slow: &'static [Slow],
}

/// As fast as can be: who is in need of something faster can often do without it (a copy that is only read: measured 1.74 s of 1.77 in a
/// cache of a configuration; pickle was 4.7 times as fast at most).
pub const LEFT_OUT: f64 = f64::INFINITY;

/// Whether a program is there for what this library does, and for nothing else.
pub fn is_tool(program: &str, library: &str) -> bool {
    let name = last_part(program);
    let tools = native::TOOLS.iter().filter(|(own, _)| *own == library);
    tools
        .flat_map(|(_, names)| *names)
        .any(|tool| *tool == name)
}

pub static TABLES: &[&Measured] = &[
    &passwords::TABLE,
    &native::TABLE,
    &php::TABLE,
    &python::TABLE,
    &go::TABLE,
    &java::TABLE,
    &javascript::TABLE,
    &kernel::TABLE,
];
