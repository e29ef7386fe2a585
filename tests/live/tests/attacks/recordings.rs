//! Recordings and spools of strangers: what decodes to far more than it is, what hangs, what draws on the terminal.
