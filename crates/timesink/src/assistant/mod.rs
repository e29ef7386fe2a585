//! `timesink mcp`: what a coding assistant can ask, over the Model Context Protocol on standard input and output.
//!
//! Few tools, each of which answers in the words of a command. Each is asked of timesink itself, as a process of its own with the rights
//! and the limits that the command has; what it says is passed on, up to a length.

mod child;
mod tools;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use anyhow::Context as _;
use rmcp::ServiceExt;
use tokio::io::{AsyncRead, ReadBuf};

pub use child::{end_with_server, Asked};
pub use tools::Tools;

/// Standard input, at whose end all that is asked ends: the library answers what it was asked before, and would wait for that.
struct UntilEnd<R> {
    input: R,
    asked: Asked,
}

impl<R: AsyncRead + Unpin> AsyncRead for UntilEnd<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.input).poll_read(context, buffer);
        let is_end = match &read {
            Poll::Ready(Ok(())) => buffer.filled().len() == before && buffer.remaining() > 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if is_end {
            self.asked.end();
        }
        read
    }
}

/// Answers until standard input ends.
pub fn serve(tools: Tools) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot wait for questions")?;
    let asked = tools.asked.clone();
    runtime.block_on(async {
        let (input, output) = rmcp::transport::stdio();
        let input = UntilEnd { input, asked };
        let service = tools.serve((input, output)).await;
        let service = service.context("the assistant did not say what it is")?;
        service.waiting().await.context("the connection broke")
    })?;
    // What is still asked ends as we do. A read of standard input may still be under way in a thread of the runtime; nobody waits for it.
    runtime.shutdown_background();
    Ok(())
}
