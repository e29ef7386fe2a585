//! Sleeps that a runtime makes of waits that something else could end: of .NET on a condition, of R and Guile for descriptors of their own.
//! To the kernel they wait for these. Their stacks say that they sleep.

use super::{Code, StackIx};

/// The function that sleeps, and how the name of the library begins that has it.
const SLEEPS: [(&str, &str); 3] = [
    ("Thread::UserSleep(int)", "libcoreclr."),
    ("Rsleep", "libR."),
    ("scm_std_usleep", "libguile-"),
];

/// Whether a thread that waits in a stack does because the program asked it to sleep.
pub fn is_sleep(code: &Code, stack: StackIx) -> bool {
    let mut functions = code.functions_of(stack).into_iter();
    functions.any(|at| {
        let function = code.function(at);
        let mut sleeps = SLEEPS.iter();
        let library = sleeps.find(|(name, _)| function.name == *name);
        library.is_some_and(|(_, library)| {
            let file = code.file_of(function);
            file.is_some_and(|file| file.starts_with(library))
        })
    })
}
