//! BF.HELP and CF.HELP: a summary of the commands for users of redis-cli.

use bloomline_harness::{Kind, Setup, for_each_server, show};
use redis::Value;

use crate::inspect::text;

/// The lines of the reply.
fn lines(reply: &Value) -> Vec<String> {
    let Value::Array(lines) = reply else { panic!("expected an array, got {}", show(reply)) };
    let line = |line: &Value| match line {
        Value::SimpleString(text) => text.clone(),
        other => panic!("expected a simple string, got {}", show(other)),
    };
    lines.iter().map(line).collect()
}

/// What the names of the commands of a family begin with.
const FAMILIES: [&str; 2] = ["BF", "CF"];

/// The names of the commands of a family, as the server lists them. One with an underscore is for
/// servers, not for users.
fn commands(kind: &Kind, family: &str) -> Vec<String> {
    let server = Setup::new().start(kind);
    let Value::Array(names) = server.resp2().call("COMMAND LIST FILTERBY MODULE bf") else {
        panic!("expected an array")
    };
    let names = names.iter().map(|name| text(name).to_uppercase());
    names.filter(|name| name.starts_with(family) && !name.contains('_')).collect()
}

#[test]
fn help_has_the_form_of_the_servers_and_all_commands() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        for (mut client, family) in
            FAMILIES.iter().flat_map(|family| [(server.resp2(), *family), (server.resp3(), family)])
        {
            let ours = lines(&client.call(&format!("{family}.HELP")));
            let servers = lines(&client.call("OBJECT HELP"));
            assert_eq!(ours, lines(&client.call(&format!("{}.help", family.to_lowercase()))));
            // A line with the syntax, then sentences that are indented by four blanks.
            for (ours, servers) in ours.iter().zip(&servers).take(3) {
                assert_eq!(
                    ours.starts_with("    "),
                    servers.starts_with("    "),
                    "{ours}\n{servers}"
                );
            }
            assert!(ours[0].ends_with("Commands are:") && servers[0].ends_with("Subcommands are:"));
            if kind.is_before_7() {
                // Redis 6.2 has no COMMAND LIST.
                continue;
            }
            let listed: Vec<&str> = ours[1..]
                .iter()
                .filter(|line| !line.starts_with(' '))
                .map(|line| line.split(' ').next().unwrap())
                .collect();
            let names = commands(kind, family);
            assert!(names.len() > 15, "{names:?}");
            for name in &names {
                assert!(listed.contains(&name.as_str()), "{name}");
            }
            assert_eq!(listed.len(), names.len());
        }
    });
}

#[test]
fn help_has_no_key_and_the_flags_of_the_servers_help() {
    Setup::new().on_each_server(|mut client, server| {
        for (name, category) in [("bf.help", "bloom"), ("cf.help", "cuckoo")] {
            // Older servers refuse every call of this length, with another text.
            let keys = client.ask(&format!("COMMAND GETKEYS {name}"));
            assert!(keys.starts_with("-ERR "), "{keys}");
            let info = client.ask(&format!("COMMAND INFO {name}"));
            assert!(info.contains("+loading +stale"), "{info}");
            if server.kind.has_acl_categories() {
                assert!(info.contains(&format!("+@{category}")), "{info}");
            }
            if server.kind.is_before_7() {
                continue;
            }
            let flags = client.ask("COMMAND INFO object|help");
            assert!(flags.contains("+loading +stale"), "{flags}");
            let docs = client.ask(&format!("COMMAND DOCS {name}"));
            assert!(docs.contains("summary") && docs.contains("0.1.0"), "{docs}");
        }
    });
}

#[test]
fn help_works_while_the_server_has_no_data() {
    Setup::new().line("replica-serve-stale-data no").on_tcp().on_each_server(|mut client, _| {
        // No server listens on this port.
        client.ok("REPLICAOF 127.0.0.1 1");
        for family in FAMILIES {
            assert!(client.ask(&format!("{family}.EXISTS k a")).starts_with("-MASTERDOWN"));
            let help = client.ask(&format!("{family}.HELP"));
            assert!(help.starts_with(&format!("*[+{family}.")), "{help}");
        }
    });
}
