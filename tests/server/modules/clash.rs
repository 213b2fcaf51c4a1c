//! Another module that owns BF.* commands: the log names the clash, and a running server continues.

use std::fs;

use bloomline_harness::{CModule, Kind, Setup, Stop, for_each_server, module};

/// A module called `other` that owns BF.ADD.
fn other_module() -> CModule {
    CModule::build("modules/other.c", &[])
}

/// A module called `bf`, like RedisBloom, that owns BF.ADD.
fn namesake() -> CModule {
    CModule::build("modules/other.c", &["NAME=\"bf\""])
}

/// A server that allows MODULE LOAD. Redis 7.0 and newer servers need a setting for it.
fn open_to_modules(kind: &Kind) -> Setup {
    if kind.is_before_7() { Setup::new() } else { Setup::new().line("enable-module-command yes") }
}

#[test]
fn a_start_with_both_modules_logs_the_command() {
    let other = other_module();
    for_each_server(|kind| {
        let log = Setup::new()
            .line(format!("loadmodule {}", other.path().display()))
            .try_start(kind)
            .err();
        let log = log.expect("two modules cannot own one command");
        assert!(log.contains("command bf.add can't be registered"), "{log}");
        assert!(log.contains("MODULE LIST") && log.contains("load only one"), "{log}");
    });
}

#[test]
fn a_refused_load_leaves_a_running_server_intact() {
    let other = other_module();
    for_each_server(|kind| {
        let mut server = open_to_modules(kind)
            .bare()
            .line(format!("loadmodule {}", other.path().display()))
            .start(kind);
        let mut client = server.resp2();
        for _ in 0..2 {
            let refused = client.ask(&format!("MODULE LOAD {}", module().display()));
            assert!(refused.starts_with("-ERR"), "{refused}");
        }
        let log = server.log();
        assert_eq!(log.matches("command bf.add can't be registered").count(), 2, "{log}");
        // Nothing of our module is left, and the other module still works.
        assert_eq!(client.ask("BF.ADD k a"), "+the other module");
        for line in ["BF.RESERVE k 0.01 100", "BF.EXISTS k a", "BF.INFO k"] {
            assert!(client.ask(line).starts_with("-ERR unknown command"), "{line}");
        }
        // These commands would call callbacks of our module.
        for line in
            ["INFO everything", "CONFIG GET *", "COMMAND", "ACL CAT", "FLUSHALL", "SWAPDB 0 1"]
        {
            let reply = client.ask(line);
            assert!(!reply.starts_with("-"), "{line}: {reply}");
        }
        client.assert_answers_ping("the refused loads");
        server.restart(Stop::Save);
        assert_eq!(server.resp2().ask("BF.ADD k a"), "+the other module");
    });
}

#[test]
fn a_load_with_wrong_arguments_leaves_a_running_server_intact() {
    for_each_server(|kind| {
        let server = open_to_modules(kind).bare().line("notify-keyspace-events KA").start(kind);
        let mut client = server.resp2();
        let (path, modules) = (module(), client.ask("MODULE LIST"));
        for (args, logged) in [
            ("bf-error-rate 0.1 bf-eror-rate 0.01", "Unrecognized option 'bf-eror-rate'"),
            ("bf-layout redisbloom bf-redisbloom-replicas yes", "'bf-redisbloom-replicas'"),
            ("bf-error-rate x", "Invalid argument for 'bf-error-rate'"),
            ("bf-error-rate", "Invalid number of arguments passed"),
        ] {
            let refused = client.ask(&format!("MODULE LOAD {} {args}", path.display()));
            assert!(refused.starts_with("-ERR"), "{refused}");
            assert!(server.log().contains(logged), "{}", server.log());
            assert_eq!(client.ask("MODULE LIST"), modules, "{args}");
            // What would call a function that the module has registered: the file is unloaded.
            for line in [
                "SET a 1",
                "COPY a b",
                "RENAME b c",
                "PEXPIRE c 100000",
                "MOVE c 1",
                "DEL a",
                "INFO everything",
                "INFO bf",
                "CONFIG GET *",
                "COMMAND",
                "FLUSHALL",
                "SWAPDB 0 1",
                "BGSAVE",
            ] {
                let reply = client.ask(line);
                assert!(!reply.starts_with('-'), "{line}: {reply}");
            }
            client.wait_for_saves();
            client.assert_answers_ping(args);
        }
        // The same server takes the module afterwards, and a second one of its name is refused.
        let load = format!("MODULE LOAD {}", path.display());
        client.ok(&load);
        assert_eq!(client.ask("BF.ADD k a"), ":1");
        assert_eq!(client.ask("BF.STATS k error_rate"), "*[$10 error_rate $4 0.01]");
        assert!(client.ask(&load).starts_with("-ERR"));
        assert!(server.log().contains("this file is loaded already"), "{}", server.log());
        assert_eq!(client.ask("COPY k l"), ":1");
        assert!(client.ask("INFO bf").contains("bf_filters:2"));
        client.assert_answers_ping("the refused loads");
    });
}

#[test]
fn a_loaded_namesake_is_named_in_the_log() {
    const LOGGED: &str =
        "another module called bf is loaded already (MODULE LIST): load only one of the two";
    let other = namesake();
    for_each_server(|kind| {
        let line = format!("loadmodule {}", other.path().display());
        let log = Setup::new().line(&line).try_start(kind).err().expect("two modules of one name");
        assert!(log.contains(LOGGED), "{log}");
        let server = open_to_modules(kind).bare().line(line).start(kind);
        let mut client = server.resp2();
        for times in 1..=2 {
            let refused = client.ask(&format!("MODULE LOAD {}", module().display()));
            assert!(refused.starts_with("-ERR"), "{refused}");
            assert_eq!(server.log().matches(LOGGED).count(), times, "{}", server.log());
        }
        // The module that was loaded first still works.
        assert_eq!(client.ask("BF.ADD k a"), "+the other module");
        assert!(client.ask("BF.RESERVE k 0.01 100").starts_with("-ERR unknown command"));
        assert_eq!(client.ask("MODULE LIST").matches("$2 bf").count(), 1);
        for line in ["INFO everything", "CONFIG GET *", "COMMAND", "FLUSHALL"] {
            let reply = client.ask(line);
            assert!(!reply.starts_with('-'), "{line}: {reply}");
        }
        client.assert_answers_ping("the refused loads");
    });
}

#[test]
fn a_second_copy_of_the_module_is_refused() {
    let folder =
        tempfile::Builder::new().prefix("bloomline-").tempdir().expect("a temporary folder");
    let copy = folder.path().join("copy.so");
    fs::copy(module(), &copy).expect("a copy of the module");
    for_each_server(|kind| {
        let server = open_to_modules(kind).start(kind);
        let mut client = server.resp2();
        assert_eq!(client.ask("BF.MADD k a b"), "*[:1 :1]");
        for path in [&copy, &module()] {
            let refused = client.ask(&format!("MODULE LOAD {}", path.display()));
            assert!(refused.starts_with("-ERR"), "{refused}");
        }
        assert_eq!(client.ask("MODULE LIST").matches("$2 bf").count(), 1);
        assert_eq!(client.ask("BF.MEXISTS k a b c"), "*[:1 :1 :0]");
        assert_eq!(client.ask("BF.ADD k c"), ":1");
        assert_eq!(client.ask("DEL k"), ":1");
    });
}

#[test]
fn the_module_cannot_be_unloaded() {
    for_each_server(|kind| {
        let server = open_to_modules(kind).start(kind);
        let mut client = server.resp2();
        assert_eq!(client.ask("BF.ADD k a"), ":1");
        let refused = client.ask("MODULE UNLOAD bf");
        assert!(refused.starts_with("-ERR"), "{refused}");
        assert_eq!(client.ask("BF.EXISTS k a"), ":1");
    });
}
