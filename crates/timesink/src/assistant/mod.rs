//! `timesink mcp`: what a coding assistant can ask, over the Model Context Protocol on standard input and output.
//!
//! Few tools, each of which answers in the words of a command. Each is asked of timesink itself, as a process of its own with the rights
//! and the limits that the command has; what it says is passed on, up to a length.

mod child;
mod tools;

use anyhow::Context;
use rmcp::ServiceExt;

pub use child::Asked;
pub use tools::Tools;

/// Answers until standard input ends.
pub fn serve(tools: Tools) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot wait for questions")?;
    let asked = tools.asked.clone();
    runtime.block_on(async {
        let service = tools.serve(rmcp::transport::stdio()).await;
        let service = service.context("the assistant did not say what it is")?;
        service.waiting().await.context("the connection broke")
    })?;
    asked.end();
    // A read of standard input may still be under way in a thread of the runtime; nobody waits for it.
    runtime.shutdown_background();
    Ok(())
}
