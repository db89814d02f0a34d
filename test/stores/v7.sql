-- A file of schema 7, as the code of then wrote it; v7.json is what that code answered about it.
CREATE TABLE attempt (
    turn INTEGER NOT NULL, effect TEXT NOT NULL, seal INTEGER, PRIMARY KEY (turn, effect)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "attempt" VALUES(11,'e',1579322629);
CREATE TABLE blob (n INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, at REAL NOT NULL, data BLOB NOT NULL, sweep INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "blob" VALUES(1,'QLJrebjGqOPzbpaWMBxPfxUmIC5EkHwmWdEUkcPm0IY',1794935470993.0,X'6B657074206279746573',0);
CREATE TABLE config (session INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
INSERT INTO "config" VALUES(1,'756a0b47{"model":"n"}');
INSERT INTO "config" VALUES(2,'b053ad4f{"model":"house/model"}');
INSERT INTO "config" VALUES(4,'5d99df35{"model":"house/model"}');
INSERT INTO "config" VALUES(5,'c6ea35e1{"model":"house/model"}');
CREATE TABLE gone (id TEXT PRIMARY KEY, n INTEGER, states INTEGER, seal INTEGER) STRICT, WITHOUT ROWID;
INSERT INTO "gone" VALUES('gone',3,0,331488133);
CREATE TABLE journal (k INTEGER PRIMARY KEY, size INTEGER NOT NULL, until REAL NOT NULL, events TEXT NOT NULL) STRICT;
INSERT INTO "journal" VALUES(4194304,1,0.0,'7de97bc1[{"at":1000000,"step":1,"protocol":{"id":"tool-calls","version":1},"host":"journal","plugins":[],"config":{"model":"house/model"},"generation":3}]');
INSERT INTO "journal" VALUES(4194305,2,0.0,'8538e990[{"kind":"slept","at":1000000,"effect":"a"},{"kind":"slept","at":1000000,"effect":"b"}]');
INSERT INTO "journal" VALUES(16777216,1,0.0,'81785c42[{"at":1000000,"step":1,"protocol":{"id":"tool-calls","version":1},"host":"journal","plugins":[],"config":{"model":"house/model"},"generation":1}]');
INSERT INTO "journal" VALUES(16777217,1,0.0,'c6a54ab7[{"kind":"slept","at":1000000,"effect":"a"}]');
INSERT INTO "journal" VALUES(20971520,1,0.0,'5c4b3c4a[{"at":1000000,"step":1,"protocol":{"id":"tool-calls","version":1},"host":"journal","plugins":[],"config":{"model":"house/model"},"generation":1}]');
CREATE TABLE ledger (
    session INTEGER NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, nth REAL NOT NULL, calls REAL NOT NULL,
    input REAL NOT NULL, cache_read REAL NOT NULL, cache_write REAL NOT NULL, output REAL NOT NULL,
    reasoning REAL NOT NULL, unknown_calls REAL NOT NULL, estimated_input REAL NOT NULL DEFAULT 0, estimated_output REAL NOT NULL DEFAULT 0, seal INTEGER,
    PRIMARY KEY (session, source, model)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "ledger" VALUES(1,'turn','house/model',2.0,1.0,3.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,748341683);
CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), floor INTEGER NOT NULL, gone INTEGER NOT NULL DEFAULT 0, seal INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "meta" VALUES(1,5,1,2898564139);
CREATE TABLE note (
    turn INTEGER NOT NULL, effect TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (turn, effect, key)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "note" VALUES(11,'e','k','325a8914{"paid":true}');
CREATE TABLE operation (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL, committed TEXT NOT NULL,
    UNIQUE (session, name)
  ) STRICT;
INSERT INTO "operation" VALUES(3,1,'op-configure','5pN8ZgqOGJ1jHXkSB66zLWiWi0RxyTY-B5hRqhYgu9Y','93e97508{"kind":"committed","revision":2,"head":"turn-one.1","cursor":"3","by":"configure","receipt":{"made":1}}');
CREATE TABLE operation_note (
    session INTEGER NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (session, operation, key)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE options (session INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
INSERT INTO "options" VALUES(1,'ffaa1d5f{"acme/notes":{"depth":1}}');
INSERT INTO "options" VALUES(2,'b2421d38{"acme/notes":{"depth":1}}');
CREATE TABLE parked (
      session INTEGER PRIMARY KEY, turn INTEGER NOT NULL, wake REAL NOT NULL, waits TEXT NOT NULL, seal INTEGER NOT NULL
    ) STRICT;
INSERT INTO "parked" VALUES(4,16,1000500.0,'["wai_1bwY9ZeCghCPFiTPpB9J_HYFlK","wai_xDovycYH45LLKzAE9GyYEhtus1"]',2194110646);
CREATE TABLE segment (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, revision INTEGER NOT NULL, depth INTEGER NOT NULL,
    parent INTEGER, parent_index INTEGER, size INTEGER NOT NULL, users INTEGER NOT NULL,
    is_named INTEGER NOT NULL, is_branch INTEGER NOT NULL, name TEXT NOT NULL, entries TEXT NOT NULL
  ) STRICT;
INSERT INTO "segment" VALUES(1,1,0,0,NULL,NULL,2,2,0,0,'turn-one','b06d16c1[[1000000,1,["First."]],[0,1,["Second."]]]');
INSERT INTO "segment" VALUES(6,1,2,1,1,1,1,1,0,0,'turn-asked','5ffd1cb2[[1000000,1,["well"]]]');
CREATE TABLE session (
    n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, parent_id TEXT, created_at REAL NOT NULL,
    revision INTEGER NOT NULL, turns INTEGER NOT NULL, head INTEGER, head_index INTEGER, usage TEXT NOT NULL,
    seal INTEGER NOT NULL,
    generation INTEGER NOT NULL, turn INTEGER, owner TEXT, process TEXT, until REAL NOT NULL
  , origin_id TEXT, origin_at TEXT, own_rows INTEGER NOT NULL DEFAULT 0, written INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "session" VALUES(1,'main',NULL,1000000.0,3,2,6,0,'[3,0]',3003959407,3,11,'ann','elsewhere',0.0,NULL,NULL,16,3);
INSERT INTO "session" VALUES(2,'fork',NULL,1000000.0,0,0,1,0,'[0,0]',2738340540,0,NULL,NULL,NULL,0.0,'main','turn-one.0',2,0);
INSERT INTO "session" VALUES(4,'child','main',1000000.0,0,0,NULL,NULL,'[0,0]',3393796170,2,16,'ann','elsewhere',0.0,NULL,NULL,4,2);
INSERT INTO "session" VALUES(5,'other',NULL,1000000.0,0,0,NULL,NULL,'[0,0]',2222201714,1,18,'ann','elsewhere',1030000.0,NULL,NULL,1,1);
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
INSERT INTO "turn" VALUES(1,1,'turn-one','input-one',1,0,'k-one','hash of one',NULL,NULL,NULL,NULL,2,NULL,'d4cbd3c9{"at":1000005,"outcome":{"kind":"stopped","by":"plugin","code":"law","reason":"The law says so.","text":"well"},"usage":[3,0],"size":2,"inputs":[],"revision":1}',NULL,5239842172);
INSERT INTO "turn" VALUES(6,1,'turn-asked','input-asked',1,0,NULL,'hash of asked',NULL,NULL,NULL,NULL,10,NULL,'43cd2910{"at":1000005,"outcome":{"kind":"stopped","by":"plugin","code":"law","reason":"The law says so.","text":"well"},"usage":[0,0],"size":1,"inputs":[],"revision":3}',NULL,4093106672);
INSERT INTO "turn" VALUES(11,1,'turn-open','input-open',1,0,NULL,'hash of open',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'23f63f80[1000000,["open"]]',3870528242);
INSERT INTO "turn" VALUES(15,1,'turn-aside','input-aside',0,2,NULL,'hash of aside',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'835525a5[1000000,["aside"]]',1526179396);
INSERT INTO "turn" VALUES(16,4,'turn-parked','input-parked',1,0,NULL,'hash of parked',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'0dc6298b[1000000,["parked"]]',5245657848);
INSERT INTO "turn" VALUES(18,5,'turn-waits','input-waits',1,0,NULL,'hash of waits',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'f83ba41a[1000000,["waits"]]',2825624831);
CREATE TABLE wait (
      n INTEGER PRIMARY KEY, id TEXT NOT NULL, key TEXT, session INTEGER NOT NULL, turn INTEGER NOT NULL, effect TEXT,
      at REAL, about TEXT, until REAL NOT NULL, is_turns INTEGER NOT NULL, asked INTEGER, answered INTEGER, nth INTEGER,
      answer TEXT, seal INTEGER NOT NULL
    ) STRICT;
INSERT INTO "wait" VALUES(1,'wai_YMVZD3Lu8pL5VFr8KL9jypHSAW',NULL,1,6,'r1.call.0.wait',1000000.0,'42d655ec{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,7,9,1,'5b8613fd{"kind":"value","value":null,"by":"Ann"}',3204517246);
INSERT INTO "wait" VALUES(2,'wai_Bvj66jtfaXaRttBjoHuk_68ezp',NULL,1,6,'r1.call.0.wait',1000000.0,'42d655ec{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,8,NULL,NULL,NULL,1739609472);
INSERT INTO "wait" VALUES(3,'wai_VerlC3XispkPLBi-hMoHlyeoX2','w3',1,11,'r1.call.0.wait',1000000.0,'0b1091bf{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,12,NULL,NULL,NULL,3780435859);
INSERT INTO "wait" VALUES(4,'wai_h5zGeoRrVwxCQfGID3nm7RZGq9','w4',1,11,'r1.call.0.wait',1000000.0,'0b1091bf{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,13,14,1,'188a3588{"kind":"value","value":{"yes":true}}',1579304798);
INSERT INTO "wait" VALUES(5,'wai_uzSfJpl22XEpTjzdWEexKJF-uF','w5',1,11,'r1.call.0.wait',1000000.0,'0b1091bf{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,NULL,NULL,NULL,NULL,375375165);
INSERT INTO "wait" VALUES(6,'wai_1bwY9ZeCghCPFiTPpB9J_HYFlK','w6',4,16,'r1.call.0.wait',1000000.0,'3874af5a{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,17,NULL,NULL,NULL,1414448158);
INSERT INTO "wait" VALUES(7,'wai_xDovycYH45LLKzAE9GyYEhtus1','w7',4,16,'r1.call.0.wait',1000000.0,'61fa20b1{"kind":"turns","need":"all","turns":[{"sessionId":"main","turnId":"turn-open"}]}',1000010.0,1,NULL,NULL,NULL,NULL,4101036713);
CREATE UNIQUE INDEX segment_named ON segment (name) WHERE is_named = 1;
CREATE INDEX segment_left ON segment (session) WHERE is_named = 1;
CREATE INDEX segment_branch ON segment (session) WHERE is_branch = 1;
CREATE INDEX turn_session ON turn (session);
CREATE INDEX turn_waiting ON turn (session) WHERE state = 0;
CREATE INDEX turn_claimed ON turn (claim) WHERE claim IS NOT NULL;
CREATE INDEX turn_done ON turn (done) WHERE done IS NOT NULL;
CREATE INDEX session_parent ON session (parent_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX session_origin ON session (origin_id, id) WHERE origin_id IS NOT NULL;
CREATE INDEX operation_session ON operation (session);
CREATE UNIQUE INDEX turn_key ON turn (session, key) WHERE key IS NOT NULL AND state <> 2;
CREATE INDEX turn_aside ON turn (session) WHERE state = 0 AND cancel IS NULL AND is_aside > 0;
CREATE INDEX turn_append ON turn (session) WHERE state = 0 AND is_aside = 3;
CREATE INDEX wait_id ON wait (id);
CREATE INDEX wait_turn ON wait (turn) WHERE key IS NOT NULL;
CREATE INDEX wait_turns ON wait (session) WHERE is_turns = 1;
CREATE INDEX wait_open ON wait (asked) WHERE key IS NOT NULL AND asked IS NOT NULL AND answer IS NULL;
CREATE INDEX wait_asked ON wait (asked) WHERE asked IS NOT NULL;
CREATE INDEX wait_answered ON wait (answered) WHERE answered IS NOT NULL;
CREATE INDEX wait_session_asked ON wait (session, asked);
CREATE INDEX wait_session_answered ON wait (session, answered) WHERE answered IS NOT NULL;
CREATE INDEX parked_wake ON parked (wake);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('session',5);
PRAGMA application_id = 1114601324;
PRAGMA user_version = 7;
