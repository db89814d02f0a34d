-- A file of schema 6, as the code of then wrote it; v6.json is what that code answered about it.
CREATE TABLE attempt (
    turn INTEGER NOT NULL, effect TEXT NOT NULL, seal INTEGER, PRIMARY KEY (turn, effect)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "attempt" VALUES(6,'e',2632139153);
CREATE TABLE blob (n INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, at REAL NOT NULL, data BLOB NOT NULL, sweep INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE config (session INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
INSERT INTO "config" VALUES(1,'c6b69472{"model":"house/model"}');
INSERT INTO "config" VALUES(2,'b053ad4f{"model":"house/model"}');
INSERT INTO "config" VALUES(3,'2b20479b{"model":"house/model"}');
CREATE TABLE gone (id TEXT PRIMARY KEY, n INTEGER, states INTEGER, seal INTEGER) STRICT, WITHOUT ROWID;
INSERT INTO "gone" VALUES('gone',4,0,2383749948);
CREATE TABLE journal (k INTEGER PRIMARY KEY, size INTEGER NOT NULL, until REAL NOT NULL, events TEXT NOT NULL) STRICT;
INSERT INTO "journal" VALUES(4194304,1,0.0,'e56fa08f[{"at":1000000,"step":1,"protocol":{"id":"tool-calls","version":1},"host":"journal","plugins":[],"config":{"model":"house/model"},"generation":2}]');
INSERT INTO "journal" VALUES(4194305,3,0.0,'b24c01bb[{"kind":"deferred","at":1000000,"effect":"r1.call.w1","key":"w1","until":1000010},{"kind":"deferred","at":1000000,"effect":"r1.call.w2","key":"w2","until":1000010},{"kind":"deferred","at":1000000,"effect":"r1.call.w3","key":"w3","until":1000010}]');
INSERT INTO "journal" VALUES(4194308,1,0.0,'d651e9ed[{"kind":"slept","at":1000000,"effect":"e"}]');
INSERT INTO "journal" VALUES(12582912,1,0.0,'8fcfa373[{"at":1000000,"step":1,"protocol":{"id":"tool-calls","version":1},"host":"journal","plugins":[],"config":{"model":"house/model"},"generation":1}]');
INSERT INTO "journal" VALUES(12582913,1,0.0,'e348d94b[{"kind":"deferred","at":1000000,"effect":"r1.call.w4","key":"w4","until":1000010}]');
CREATE TABLE ledger (
    session INTEGER NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, nth REAL NOT NULL, calls REAL NOT NULL,
    input REAL NOT NULL, cache_read REAL NOT NULL, cache_write REAL NOT NULL, output REAL NOT NULL,
    reasoning REAL NOT NULL, unknown_calls REAL NOT NULL, estimated_input REAL NOT NULL DEFAULT 0, estimated_output REAL NOT NULL DEFAULT 0, seal INTEGER,
    PRIMARY KEY (session, source, model)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "ledger" VALUES(1,'turn','house/model',2.0,1.0,3.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,748341683);
CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), floor INTEGER NOT NULL, gone INTEGER NOT NULL DEFAULT 0, seal INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "meta" VALUES(1,4,1,343470926);
CREATE TABLE note (
    turn INTEGER NOT NULL, effect TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (turn, effect, key)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "note" VALUES(6,'e','k','270db818{"paid":true}');
CREATE TABLE operation (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL, committed TEXT NOT NULL,
    UNIQUE (session, name)
  ) STRICT;
INSERT INTO "operation" VALUES(5,1,'op-command','r4aVULY3A7zh1NlRFyZlGi3GZYOLg0UKjeHPIPd2-LE','0149ccf9{"kind":"committed","revision":2,"head":"turn-one.1","cursor":"5","receipt":{"made":1}}');
CREATE TABLE operation_note (
    session INTEGER NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (session, operation, key)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "operation_note" VALUES(1,'part','','eb66f818[]');
CREATE TABLE options (session INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
INSERT INTO "options" VALUES(1,'ffaa1d5f{"acme/notes":{"depth":1}}');
INSERT INTO "options" VALUES(2,'b2421d38{"acme/notes":{"depth":1}}');
CREATE TABLE segment (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, revision INTEGER NOT NULL, depth INTEGER NOT NULL,
    parent INTEGER, parent_index INTEGER, size INTEGER NOT NULL, users INTEGER NOT NULL,
    is_named INTEGER NOT NULL, is_branch INTEGER NOT NULL, name TEXT NOT NULL, entries TEXT NOT NULL
  ) STRICT;
INSERT INTO "segment" VALUES(1,1,0,0,NULL,NULL,2,2,0,0,'turn-one','b06d16c1[[1000000,1,["First."]],[0,1,["Second."]]]');
CREATE TABLE session (
    n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, parent_id TEXT, created_at REAL NOT NULL,
    revision INTEGER NOT NULL, turns INTEGER NOT NULL, head INTEGER, head_index INTEGER, usage TEXT NOT NULL,
    seal INTEGER NOT NULL,
    generation INTEGER NOT NULL, turn INTEGER, owner TEXT, process TEXT, until REAL NOT NULL
  , origin_id TEXT, origin_at TEXT, own_rows INTEGER NOT NULL DEFAULT 0, written INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "session" VALUES(1,'main',NULL,1000000.0,2,1,1,1,'[3,0]',132695027,2,6,'ann','elsewhere',0.0,NULL,NULL,15,5);
INSERT INTO "session" VALUES(2,'fork',NULL,1000000.0,0,0,1,0,'[0,0]',2738340540,0,NULL,NULL,NULL,0.0,'main','turn-one.0',2,0);
INSERT INTO "session" VALUES(3,'child','main',1000000.0,0,0,NULL,NULL,'[0,0]',1281039801,1,9,'ann','elsewhere',0.0,NULL,NULL,2,2);
CREATE TABLE state (
    session INTEGER NOT NULL, plugin TEXT NOT NULL, since INTEGER NOT NULL, body TEXT,
    PRIMARY KEY (session, plugin, since)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "state" VALUES(1,'acme/notes',0,'9f6fc22b{"version":"1","revision":1,"state":{"n":1}}');
INSERT INTO "state" VALUES(1,'acme/notes',1,'08663a83{"version":"1","revision":2,"state":{"n":2}}');
INSERT INTO "state" VALUES(2,'acme/notes',0,'1938156a{"version":"1","revision":1,"state":{"n":1}}');
CREATE TABLE sweep (n INTEGER PRIMARY KEY, fact INTEGER NOT NULL) STRICT;
CREATE TABLE turn (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, input_id TEXT NOT NULL,
    state INTEGER NOT NULL, is_aside INTEGER NOT NULL, key TEXT, hash TEXT NOT NULL,
    claim INTEGER, boundary TEXT, is_shown INTEGER, ended_by INTEGER, done INTEGER,
    cancel TEXT, ended TEXT, input TEXT
  , seal INTEGER) STRICT;
INSERT INTO "turn" VALUES(1,1,'turn-one','input-one',1,0,'k-one','hash of one',NULL,NULL,NULL,NULL,2,NULL,'69f83600{"at":1000005,"outcome":{"kind":"stopped","by":"plugin","code":"law","reason":"The law says so.","text":"well"},"usage":[3,0],"size":2,"revision":1}',NULL,6737880841);
INSERT INTO "turn" VALUES(6,1,'turn-open','input-open',1,0,NULL,'hash of open',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'d05df06b[1000000,["open"]]',926743205);
INSERT INTO "turn" VALUES(7,1,'turn-aside','input-aside',0,2,NULL,'hash of aside',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'8af43820[1000000,["aside"]]',6414638636);
INSERT INTO "turn" VALUES(8,1,'append/op-late','append/op-late',0,3,NULL,'NKmKWPKsL9RsewfMOFYu3AsBxt5spcOnyhoKCo6RYj4',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'df5ab8a8{"sessionId":"main","operation":"op-late","at":1000000,"by":"append","queueMax":5,"entries":[{"at":1000000,"kind":"plugin","plugin":"acme/notes","type":"note","body":2}]}',5216800572);
INSERT INTO "turn" VALUES(9,3,'turn-small','input-small',1,0,NULL,'hash of small',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'b6dd7955[1000000,["small"]]',4410520420);
CREATE TABLE wait (
    key TEXT PRIMARY KEY, turn INTEGER NOT NULL, until REAL NOT NULL, nth INTEGER, answer TEXT
  , seal INTEGER) STRICT, WITHOUT ROWID;
INSERT INTO "wait" VALUES('w1',6,1000010.0,NULL,NULL,2925622740);
INSERT INTO "wait" VALUES('w2',6,1000010.0,1,'2a8fd956{"kind":"value","value":{"yes":true}}',3653108781);
INSERT INTO "wait" VALUES('w3',6,1000010.0,NULL,NULL,1140303421);
INSERT INTO "wait" VALUES('w4',9,1000020.0,1,'ee03fd5c{"kind":"revoked"}',4206420308);
CREATE UNIQUE INDEX segment_named ON segment (name) WHERE is_named = 1;
CREATE INDEX segment_left ON segment (session) WHERE is_named = 1;
CREATE INDEX segment_branch ON segment (session) WHERE is_branch = 1;
CREATE INDEX turn_session ON turn (session);
CREATE INDEX turn_waiting ON turn (session) WHERE state = 0;
CREATE INDEX turn_claimed ON turn (claim) WHERE claim IS NOT NULL;
CREATE INDEX turn_done ON turn (done) WHERE done IS NOT NULL;
CREATE INDEX wait_turn ON wait (turn);
CREATE INDEX wait_due ON wait (until) WHERE answer IS NULL;
CREATE INDEX session_parent ON session (parent_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX session_origin ON session (origin_id, id) WHERE origin_id IS NOT NULL;
CREATE INDEX operation_session ON operation (session);
CREATE UNIQUE INDEX turn_key ON turn (session, key) WHERE key IS NOT NULL AND state <> 2;
CREATE INDEX turn_aside ON turn (session) WHERE state = 0 AND cancel IS NULL AND is_aside > 0;
CREATE INDEX turn_append ON turn (session) WHERE state = 0 AND is_aside = 3;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('session',4);
PRAGMA application_id = 1114601324;
PRAGMA user_version = 6;
