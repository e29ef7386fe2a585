//! What others lay in /tmp for a Node.js that is asked to write the names of its functions there. It is not asked.

use std::process::Command;

use timesink_live::{output, timesink, Folder, Ran};

/// Runs a node, after its shell has done something with the map that it would write. The map is removed.
fn node_with_a_map(prepared: &str, folder: &Folder) -> Ran {
    let script = format!("map=/tmp/perf-$$.map; {prepared}; exec node -e 'console.log(6 * 7)'");
    // Who runs the shell has its number, and what lies there goes with it.
    let whole = "sh -c \"$1\" & wait $!; end=$?; rm -rf /tmp/perf-$!.map; exit $end";
    let mut run = Command::new(timesink());
    run.args(["run", "-q", "-o"]).arg(folder.join("r.timesink"));
    run.args(["--", "sh", "-c", whole, "sh", &script]);
    output(&mut run)
}

/// A link that lies where the map would be leads to a file that stays as it is.
#[test]
fn a_link_where_node_would_write_its_map() {
    let folder = Folder::new("linked");
    let file = folder.join("precious");
    std::fs::write(&file, "as it was").expect("a file");
    let ran = node_with_a_map(&format!("ln -s {} $map", file.display()), &folder);
    assert_eq!(ran.exits(0).text(), "42\n");
    let text = std::fs::read_to_string(&file).expect("the file");
    assert_eq!(text, "as it was");
}

/// A folder that lies there does not end the program.
#[test]
fn a_folder_where_node_would_write_its_map() {
    let folder = Folder::new("no-map");
    let ran = node_with_a_map("mkdir $map", &folder);
    assert_eq!(ran.exits(0).text(), "42\n");
}
