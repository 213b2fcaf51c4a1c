//! A server above `maxmemory`: what would need memory is refused, and the rest works.

use bloomline_harness::{Setup, rows};

#[test]
fn what_needs_memory_is_refused_and_the_rest_works() {
    Setup::new().check_rows(rows![
        "BF.MADD k a b" => "*[:1 :1]" | "*[#t #t]";
        "BF.RESERVE hand 0.01 100 GENERATIONS 2" => "+OK";
        "BF.RESERVE roomy 0.001 100000" => "+OK";
        "CF.RESERVE c 64 ERROR 0.00001" => "+OK";
        "CF.INSERT c ITEMS a b d e f" => "*[:1 :1 :1 :1 :1]" | "*[#t #t #t #t #t]";
        "CONFIG SET maxmemory 1" => "+OK";
        // These have the flag `denyoom`.
        "BF.ADD k c" => "-OOM<any>";
        "BF.ADD k a" => "-OOM<any>";
        "BF.MADD k c d" => "-OOM<any>";
        "BF.INSERT k ITEMS c" => "-OOM<any>";
        "BF.BULKADD k FIXED 1 ca" => "-OOM<any>";
        "BF.RESERVE new 0.01 100" => "-OOM<any>";
        "BF.RESERVE new 0.01 100 LAST GENERATIONS 8" => "-OOM<any>";
        "BF.LOADCHUNK k 1 x" => "-OOM<any>";
        "BF.LOAD k x" => "-OOM<any>";
        "BF.MERGE k k" => "-OOM<any>";
        "BF.ROTATE hand" => "-OOM<any>";
        "BF.ROTATE hand AT 5" => "-OOM<any>";
        "CF.ADD c x" => "-OOM<any>";
        "CF.ADDNX c a" => "-OOM<any>";
        "CF.INSERT c ITEMS x" => "-OOM<any>";
        "CF.INSERTNX c ITEMS x" => "-OOM<any>";
        "CF.BULKADD c LINES x" => "-OOM<any>";
        "CF.RESERVE new 100" => "-OOM<any>";
        "CF.LOADCHUNK c 2 x" => "-OOM<any>";
        // These need no memory, or make room.
        "BF.MEXISTS k a b c" => "*[:1 :1 :0]" | "*[#t #t #f]";
        "BF.BULKEXISTS k FIXED 1 abc" => r"*[:3 $1 \xc0]";
        "BF.CARD k" => ":2";
        "BF.INFO k ITEMS" => "*[:2]" | "%{+Number of items inserted :2}";
        "BF.SCANDUMP k 0" => "*[:1 <any>";
        "BF.COMPACT roomy" => ":<n>";
        "CF.MEXISTS c a x" => "*[:1 :0]" | "*[#t #f]";
        "CF.COUNT c a" => ":1";
        "CF.SCANDUMP c 0" => "*[:1 <any>";
        "CF.DEL c a" => ":1" | "#t";
        "CF.BULKDEL c LINES b" => r"*[:1 $1 \x80]";
        "CF.MDEL c d e x" => "*[:1 :1 :0]" | "*[#t #t #f]";
        "CF.COMPACT c" => "+OK";
        "CF.DEBUG c" => "<any>items:1 deletes:0 <any>";
        "BF.INFO hand FILTERS" => "*[:1]" | "%{+Number of filters :1}";
        "CONFIG SET maxmemory 0" => "+OK";
        "BF.ROTATE hand" => "+OK";
        "BF.ADD k c" => ":1" | "#t";
        "CF.ADD c a" => ":1" | "#t";
    ]);
}
