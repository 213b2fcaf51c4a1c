//! BF.HELP and CF.HELP: a summary of the commands for users of redis-cli. The tests of the pages
//! compare its lines with the syntax there.

use bloomline_harness::{Setup, show};
use redis::Value;

use crate::inspect::text;

/// The lines of the reply.
fn lines(reply: &Value) -> Vec<String> {
    let Value::Array(lines) = reply else { panic!("expected an array, got {}", show(reply)) };
    lines.iter().map(text).collect()
}

#[test]
fn help_has_the_form_of_the_servers() {
    Setup::new().on_each_server(|mut client, server| {
        for family in ["BF", "CF"] {
            let ours = lines(&client.call(&format!("{family}.HELP")));
            let servers = lines(&client.call("OBJECT HELP"));
            assert_eq!(ours, lines(&server.resp3().call(&format!("{family}.help"))));
            // A line with the syntax, then sentences that are indented by four blanks.
            for (ours, servers) in ours.iter().zip(&servers).take(3) {
                let are_indented = [ours, servers].map(|line| line.starts_with("    "));
                assert_eq!(are_indented[0], are_indented[1], "{ours}\n{servers}");
            }
            assert!(ours[0].ends_with("Commands are:") && servers[0].ends_with("Subcommands are:"));
            // Older servers refuse every call of this length, with another text.
            let keys = client.ask(&format!("COMMAND GETKEYS {family}.HELP"));
            assert!(keys.starts_with("-ERR "), "{keys}");
        }
    });
}

#[test]
fn help_works_while_the_server_has_no_data() {
    Setup::new().line("replica-serve-stale-data no").on_tcp().on_each_server(|mut client, _| {
        // No server listens on this port.
        client.ok("REPLICAOF 127.0.0.1 1");
        for family in ["BF", "CF"] {
            assert!(client.ask(&format!("{family}.EXISTS k a")).starts_with("-MASTERDOWN"));
            let help = client.ask(&format!("{family}.HELP"));
            assert!(help.starts_with(&format!("*[+{family}.")), "{help}");
            // The flags also let it run while a file is loaded.
            let info = client.ask(&format!("COMMAND INFO {family}.HELP"));
            assert!(info.contains("+loading +stale"), "{info}");
        }
    });
}
