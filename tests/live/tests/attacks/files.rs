//! Files and folders that another user can write to: links, races, owners, pipes.
