//! BF.HELP and CF.HELP: a summary of the commands for users of redis-cli.

use bloomline_harness::{Setup, show};
use redis::Value;

use crate::inspect::text;

/// The lines of the reply.
fn lines(reply: &Value) -> Vec<String> {
    let Value::Array(lines) = reply else { panic!("expected an array, got {}", show(reply)) };
    lines.iter().map(text).collect()
}

#[test]
fn help_has_the_form_of_the_servers_and_all_commands() {
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
            if server.kind.is_before_7() {
                // Redis 6.2 has no COMMAND LIST.
                continue;
            }
            let docs = client.ask(&format!("COMMAND DOCS {family}.HELP"));
            assert!(docs.contains("summary") && docs.contains("0.1.0"), "{docs}");
            // One with an underscore is for servers, not for users.
            let Value::Array(names) = client.call("COMMAND LIST FILTERBY MODULE bf") else {
                panic!("expected an array")
            };
            let mut names: Vec<String> =
                names.iter().map(|name| text(name).to_uppercase()).collect();
            names.retain(|name| name.starts_with(family) && !name.contains('_'));
            let mut listed: Vec<&str> = ours[1..]
                .iter()
                .filter(|line| !line.starts_with(' '))
                .map(|line| line.split(' ').next().unwrap())
                .collect();
            names.sort();
            listed.sort_unstable();
            assert_eq!(listed, names);
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
