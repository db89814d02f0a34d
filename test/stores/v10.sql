-- A file of schema 10, as the code wrote it that had a class for each table.
CREATE TABLE attempt (
    turn INTEGER NOT NULL, effect TEXT NOT NULL, seal INTEGER, PRIMARY KEY (turn, effect)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "attempt" VALUES(10,'e',2508086944);
CREATE TABLE blob (n INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, at REAL NOT NULL, data BLOB NOT NULL, sweep INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE config (session INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
INSERT INTO "config" VALUES(1,'c6b69472{"model":"house/model"}');
INSERT INTO "config" VALUES(2,'b053ad4f{"model":"house/model"}');
INSERT INTO "config" VALUES(3,'2b20479b{"model":"house/model"}');
CREATE TABLE delivery (
    occurrence INTEGER NOT NULL, nth INTEGER NOT NULL, session INTEGER NOT NULL, subscription TEXT NOT NULL,
    revision INTEGER NOT NULL, job TEXT, turn TEXT, is_lost INTEGER NOT NULL, seal INTEGER NOT NULL,
    PRIMARY KEY (occurrence, nth)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "delivery" VALUES(1,0,1,'"watch\u0000"',1,'"job-mail-watch\u0000"',NULL,0,1965860829);
INSERT INTO "delivery" VALUES(2,0,2,'tick',1,'job-tick-tick',NULL,0,2406072248);
CREATE TABLE follower (session INTEGER PRIMARY KEY, until REAL NOT NULL) STRICT;
CREATE TABLE gone (id TEXT PRIMARY KEY, n INTEGER, states INTEGER, seal INTEGER) STRICT, WITHOUT ROWID;
CREATE TABLE job (
      n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session INTEGER NOT NULL, kind TEXT NOT NULL,
      is_hidden INTEGER NOT NULL, recovery INTEGER NOT NULL, operation TEXT, parent TEXT, state INTEGER NOT NULL,
      owner TEXT, generation INTEGER NOT NULL, is_parked INTEGER NOT NULL, due REAL, awaits TEXT, seq INTEGER NOT NULL,
      changed INTEGER NOT NULL, moves TEXT NOT NULL, seal INTEGER NOT NULL
    ) STRICT;
INSERT INTO "job" VALUES(1,'job-work',2,'task',0,0,'notes.index','turn/turn-three',0,NULL,1,1,NULL,'{"jobs":["\u0001\"job-own\\u0000\""],"need":"all"}',5,8,'bc201c28{"sessionId":"bob","state":"running","createdAt":1000000,"starts":1,"steps":2,"wakes":0,"startedAt":1000000}',4209752202);
INSERT INTO "job" VALUES(2,'"job-own\u0000"',1,'task',0,1,'',NULL,0,'ben',1,0,NULL,NULL,2,4,'91a824c7{"sessionId":"alice","state":"running","createdAt":1000000,"starts":1,"steps":0,"wakes":0,"startedAt":1000000}',1831176945);
INSERT INTO "job" VALUES(3,'job-gone',1,'task',0,0,'notes.index',NULL,2,NULL,0,0,NULL,NULL,3,6,'84dbad37{"sessionId":"alice","state":"cancelled","createdAt":1000000,"starts":0,"steps":0,"wakes":0,"cancel":{"reason":"Enough.","at":1000000},"endedAt":1000000}',3849334128);
INSERT INTO "job" VALUES(4,'job-kid',1,'task',0,0,'notes.index','job/"job-own\u0000"',0,NULL,0,0,0.0,NULL,1,7,'c468d4dd{"sessionId":"alice","state":"running","createdAt":1000000,"starts":0,"steps":0,"wakes":0}',1380109453);
INSERT INTO "job" VALUES(5,'"job-mail-watch\u0000"',1,'task',0,0,'notes.index',NULL,0,NULL,0,0,0.0,NULL,1,9,'276fe3a2{"sessionId":"alice","state":"running","createdAt":1000000,"starts":0,"steps":0,"wakes":0}',3058555876);
INSERT INTO "job" VALUES(6,'job-tick-tick',2,'task',0,0,'notes.index',NULL,0,NULL,0,0,0.0,NULL,1,10,'e27c3f35{"sessionId":"bob","state":"running","createdAt":1000000,"starts":0,"steps":0,"wakes":0}',1734602412);
CREATE TABLE job_await (
      awaited TEXT NOT NULL, job INTEGER NOT NULL, PRIMARY KEY (awaited, job)
    ) STRICT, WITHOUT ROWID;
INSERT INTO "job_await" VALUES('"job-own\u0000"',1);
CREATE TABLE job_event (k INTEGER PRIMARY KEY, job INTEGER NOT NULL, key TEXT NOT NULL, event TEXT NOT NULL) STRICT;
INSERT INTO "job_event" VALUES(4194305,1,'spawned','ac46c07e{"kind":"spawned","job":{"id":"job-work","sessionId":"alice","kind":"task","label":"to work","visibility":"managed","recovery":"rerunnable","wake":"none","onParentEnd":"cancel","at":1000000,"operation":"notes.index","input":{"name":"work"},"parent":{"turnId":"turn-three"}},"at":1000000}');
INSERT INTO "job_event" VALUES(4194306,1,'started/1','adef107a{"kind":"started","generation":1,"at":1000000}');
INSERT INTO "job_event" VALUES(4194307,1,'"step/a\u0000"','f9db1a43{"kind":"stepped","at":1000000,"name":"a\u0000","value":"a\u0000"}');
INSERT INTO "job_event" VALUES(4194308,1,'step/b','b501a1e6{"kind":"stepped","at":1000000,"name":"b","value":"b"}');
INSERT INTO "job_event" VALUES(4194309,1,'transferred/5','d72632c4{"kind":"transferred","to":"bob","at":1000000}');
INSERT INTO "job_event" VALUES(8388609,2,'spawned','d475d742{"kind":"spawned","job":{"id":"job-own\u0000","sessionId":"alice","kind":"task","label":"to own\u0000","visibility":"managed","recovery":"owner-bound","wake":"none","onParentEnd":"keep","at":1000000},"at":1000000}');
INSERT INTO "job_event" VALUES(8388610,2,'started/1','4f4d388e{"kind":"started","generation":1,"at":1000000}');
INSERT INTO "job_event" VALUES(12582913,3,'spawned','a20241a3{"kind":"spawned","job":{"id":"job-gone","sessionId":"alice","kind":"task","label":"to gone","visibility":"managed","recovery":"rerunnable","wake":"none","onParentEnd":"keep","at":1000000,"operation":"notes.index","input":{"name":"gone"}},"at":1000000}');
INSERT INTO "job_event" VALUES(12582914,3,'stop','08e0a531{"kind":"cancelling","at":1000000,"reason":"Enough."}');
INSERT INTO "job_event" VALUES(12582915,3,'end','5e882cde{"kind":"ended","state":"cancelled","at":1000000}');
INSERT INTO "job_event" VALUES(16777217,4,'spawned','66d53397{"kind":"spawned","job":{"id":"job-kid","sessionId":"alice","kind":"task","label":"to kid","visibility":"managed","recovery":"rerunnable","wake":"none","onParentEnd":"cancel","at":1000000,"operation":"notes.index","input":{"name":"kid"},"parent":{"jobId":"job-own\u0000"}},"at":1000000}');
INSERT INTO "job_event" VALUES(20971521,5,'spawned','75a77f34{"kind":"spawned","job":{"id":"job-mail-watch\u0000","sessionId":"alice","kind":"task","label":"to mail-watch\u0000","visibility":"managed","recovery":"rerunnable","wake":"none","onParentEnd":"keep","at":1000000,"operation":"notes.index","input":{"name":"mail-watch\u0000"}},"at":1000000}');
INSERT INTO "job_event" VALUES(25165825,6,'spawned','03739646{"kind":"spawned","job":{"id":"job-tick-tick","sessionId":"bob","kind":"task","label":"to tick-tick","visibility":"managed","recovery":"rerunnable","wake":"none","onParentEnd":"keep","at":1000000,"operation":"notes.index","input":{"name":"tick-tick"}},"at":1000000}');
CREATE TABLE job_line (
    job INTEGER NOT NULL, n INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (job, n)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "job_line" VALUES(1,2,'450be72d{"at":1000000,"channel":"out","text":"l2"}');
INSERT INTO "job_line" VALUES(1,3,'6ee1b578{"at":1000000,"channel":"out","text":"l3"}');
CREATE TABLE job_owner (
      id TEXT PRIMARY KEY, process TEXT NOT NULL, until REAL NOT NULL, seal INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
INSERT INTO "job_owner" VALUES('ann','elsewhere',1030000.0,3564894433);
INSERT INTO "job_owner" VALUES('ben','elsewhere',1030000.0,1803934500);
CREATE TABLE job_said (
    job INTEGER PRIMARY KEY, last INTEGER NOT NULL, lines INTEGER NOT NULL, key TEXT, since INTEGER NOT NULL,
    taken INTEGER NOT NULL, seal INTEGER NOT NULL
  ) STRICT;
INSERT INTO "job_said" VALUES(1,3,2,'tk',0,3,221215087);
CREATE TABLE journal (k INTEGER PRIMARY KEY, size INTEGER NOT NULL, until REAL NOT NULL, events TEXT NOT NULL) STRICT;
INSERT INTO "journal" VALUES(4194304,1,0.0,'1eb759e3[{"at":1000000,"step":1,"protocol":{"id":"tool-calls","version":1},"host":"journal","plugins":[],"config":{"model":"house/model"},"generation":3}]');
INSERT INTO "journal" VALUES(4194305,1,1030007.0,'890bd9cc[{"kind":"slept","at":1000000,"effect":"s"}]');
INSERT INTO "journal" VALUES(12582912,1,0.0,'a2cd3ddd[{"at":1000000,"step":1,"protocol":{"id":"tool-calls","version":1},"host":"journal","plugins":[],"config":{"model":"house/model"},"generation":2}]');
CREATE TABLE ledger (
    session INTEGER NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, nth REAL NOT NULL, calls REAL NOT NULL,
    input REAL NOT NULL, cache_read REAL NOT NULL, cache_write REAL NOT NULL, output REAL NOT NULL,
    reasoning REAL NOT NULL, unknown_calls REAL NOT NULL, estimated_input REAL NOT NULL DEFAULT 0, estimated_output REAL NOT NULL DEFAULT 0, seal INTEGER,
    PRIMARY KEY (session, source, model)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "ledger" VALUES(1,'tool','house/model',2.5,1.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,3794237245);
INSERT INTO "ledger" VALUES(1,'turn','house/model',2.0,2.0,3.25,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1913488681);
CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), floor INTEGER NOT NULL, gone INTEGER NOT NULL DEFAULT 0, seal INTEGER NOT NULL DEFAULT 0, job_floor INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "meta" VALUES(1,0,0,3071671044,0);
CREATE TABLE note (
    turn INTEGER NOT NULL, effect TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (turn, effect, key)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "note" VALUES(10,'e','"k\ud800"','6e0ad4f0null');
CREATE TABLE occurrence (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source TEXT NOT NULL, at REAL NOT NULL, deliveries INTEGER NOT NULL,
    payload TEXT NOT NULL, seal INTEGER NOT NULL
  ) STRICT;
INSERT INTO "occurrence" VALUES(1,'occurrence-mail','event:mail.arrived',1000000.0,1,'f599fff7{"payload":{"name":"mail"}}',940980177);
INSERT INTO "occurrence" VALUES(2,'occurrence-tick','subscription:bob/tick',1000000.0,1,'8f7fa95c{"payload":{"name":"tick"}}',3306652256);
CREATE TABLE operation (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL, committed TEXT NOT NULL,
    UNIQUE (session, name)
  ) STRICT;
INSERT INTO "operation" VALUES(3,1,'"op\u0000"','Qoa1qwp4lW7dtMXZ7ruRkxjBw6LlxLdIlBCIF0Klm-Y','ef3c104c{"kind":"committed","revision":2,"head":"op\u0000.0","cursor":"3","by":"append","receipt":{"a":1}}');
CREATE TABLE operation_note (
    session INTEGER NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (session, operation, key)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "operation_note" VALUES(1,'part','','0c430dfdnull');
INSERT INTO "operation_note" VALUES(1,'work','"/k\u0000"','5f118188"paid"');
CREATE TABLE options (session INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
INSERT INTO "options" VALUES(1,'423ec9c6{"notes":{"depth":1}}');
INSERT INTO "options" VALUES(2,'9a0db94f{"notes":{"x":[1]}}');
CREATE TABLE parked (
      session INTEGER PRIMARY KEY, turn INTEGER NOT NULL, wake REAL NOT NULL, waits TEXT NOT NULL, seal INTEGER NOT NULL
    ) STRICT;
INSERT INTO "parked" VALUES(3,17,1000009.0,'["wai_ypeBEsobvcr6wjGzmiPcTaeG7_","wai_PiPoFgA5WUoziU9lZOGxNIu9eg"]',361786507);
CREATE TABLE preview (
    session INTEGER NOT NULL, n INTEGER NOT NULL, turn INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (session, n)
  ) STRICT;
CREATE TABLE segment (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, revision INTEGER NOT NULL, depth INTEGER NOT NULL,
    parent INTEGER, parent_index INTEGER, size INTEGER NOT NULL, users INTEGER NOT NULL,
    is_named INTEGER NOT NULL, is_branch INTEGER NOT NULL, name TEXT NOT NULL, entries TEXT NOT NULL
  ) STRICT;
INSERT INTO "segment" VALUES(1,1,0,0,NULL,NULL,1,1,0,0,'turn-one','85f5d759[[1000000,1,["one"]]]');
INSERT INTO "segment" VALUES(3,1,1,1,1,0,1,1,1,0,'"op\u0000"','aed612e9[{"at":1000000,"kind":"plugin","plugin":"notes","type":"r","body":1}]');
INSERT INTO "segment" VALUES(4,1,2,2,3,0,1,2,0,0,'turn-two','1ab713a5[[1000000,1,["An answer."]]]');
INSERT INTO "segment" VALUES(6,3,0,0,NULL,NULL,1,1,0,0,'turn-past','2c85afa6[[1000000,1,["well"]]]');
CREATE TABLE session (
    n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, parent_id TEXT, created_at REAL NOT NULL,
    revision INTEGER NOT NULL, turns INTEGER NOT NULL, head INTEGER, head_index INTEGER, usage TEXT NOT NULL,
    seal INTEGER NOT NULL,
    generation INTEGER NOT NULL, turn INTEGER, owner TEXT, process TEXT, until REAL NOT NULL
  , origin_id TEXT, origin_at TEXT, own_rows INTEGER NOT NULL DEFAULT 0, written INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "session" VALUES(1,'alice',NULL,1000000.0,3,2,4,0,'[3,0]',4276927222,3,10,'ann','elsewhere',1030009.0,NULL,NULL,28,2);
INSERT INTO "session" VALUES(2,'bob','alice',1000000.0,0,0,4,0,'[0,0]',3230777005,0,NULL,NULL,NULL,0.0,'alice','turn-two.0',6,0);
INSERT INTO "session" VALUES(3,'carol','alice',1000000.0,1,1,6,0,'[0,0]',1145065444,3,17,'ann','elsewhere',0.0,NULL,NULL,6,1);
CREATE TABLE state (
    session INTEGER NOT NULL, plugin TEXT NOT NULL, since INTEGER NOT NULL, body TEXT,
    PRIMARY KEY (session, plugin, since)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "state" VALUES(1,'notes',0,'16dc05ee{"version":"1","revision":1,"state":{"said":0}}');
INSERT INTO "state" VALUES(1,'notes',1,'aca5f85f{"version":"1","revision":1,"state":{"said":"one"}}');
INSERT INTO "state" VALUES(1,'notes',3,'635cb978null');
CREATE TABLE subscription (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, id TEXT NOT NULL, incarnation TEXT NOT NULL,
    revision INTEGER NOT NULL, is_enabled INTEGER NOT NULL, kind INTEGER NOT NULL, event TEXT, source TEXT, next REAL,
    after TEXT, body TEXT NOT NULL, seal INTEGER NOT NULL
  ) STRICT;
INSERT INTO "subscription" VALUES(1,1,'"watch\u0000"','"alice/watch\u0000"',1,1,0,'mail.arrived',NULL,NULL,NULL,'1154efca{"label":"to watch\u0000","on":{"kind":"event","event":"mail.arrived"},"starts":{"kind":"turn","text":"Do watch\u0000."},"createdAt":1000000,"changedAt":1000000}',413461104);
INSERT INTO "subscription" VALUES(2,2,'tick','bob/tick',1,1,3,NULL,NULL,1000020.0,NULL,'c5ab87c5{"label":"to tick","on":{"kind":"interval","everyMs":10,"from":1000000,"missed":"once"},"starts":{"kind":"turn","text":"Do tick."},"createdAt":1000000,"changedAt":1000000}',2005170625);
INSERT INTO "subscription" VALUES(3,1,'commits','alice/commits',1,1,1,NULL,NULL,NULL,'3','f1ac8fdc{"label":"to commits","on":{"kind":"commits"},"starts":{"kind":"turn","text":"Do commits."},"createdAt":1000000,"changedAt":1000000}',4247682501);
CREATE TABLE sweep (n INTEGER PRIMARY KEY, fact INTEGER NOT NULL) STRICT;
CREATE TABLE turn (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, input_id TEXT NOT NULL,
    state INTEGER NOT NULL, is_aside INTEGER NOT NULL, key TEXT, hash TEXT NOT NULL,
    claim INTEGER, boundary TEXT, is_shown INTEGER, ended_by INTEGER, done INTEGER,
    cancel TEXT, ended TEXT, input TEXT
  , seal INTEGER) STRICT;
INSERT INTO "turn" VALUES(1,1,'turn-one','input-one',1,0,'"k\u0000"','hash of one',NULL,NULL,NULL,NULL,2,NULL,'78855c79{"at":1000005,"outcome":{"kind":"stopped","by":"plugin","code":"law","reason":"The law says so.","text":"well"},"usage":[3,0],"size":1,"revision":1}',NULL,3068790952);
INSERT INTO "turn" VALUES(4,1,'turn-two','input-two',1,0,NULL,'hash of two',NULL,NULL,NULL,NULL,5,NULL,'b4161ea3[1000005,0,[0,0],1,3]',NULL,2483794828);
INSERT INTO "turn" VALUES(6,3,'turn-past','input-past',1,0,NULL,'hash of past',NULL,NULL,NULL,NULL,9,NULL,'71fb4b92{"at":1000005,"outcome":{"kind":"stopped","by":"plugin","code":"law","reason":"The law says so.","text":"well"},"usage":[0,0],"size":1,"inputs":[],"revision":1}',NULL,2631940240);
INSERT INTO "turn" VALUES(10,1,'turn-three','input-three',1,0,NULL,'hash of three',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'b82c848c[1000000,["three"]]',4683986124);
INSERT INTO "turn" VALUES(12,1,'turn-four','input-four',0,0,'k','hash of four',NULL,NULL,NULL,NULL,NULL,'65b107fc{"requestId":"r","reason":"No.","at":1000000}',NULL,'dfefbfdc[1000000,["four"]]',6704511235);
INSERT INTO "turn" VALUES(13,1,'turn-five','input-five',1,2,NULL,'hash of five',10,'bb',NULL,NULL,NULL,NULL,NULL,'6c8affd6[1000000,["five"]]',2178251832);
INSERT INTO "turn" VALUES(14,1,'turn-six','input-six',0,1,NULL,'hash of six',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'2330dd89{"message":{"role":"user","parts":[{"kind":"text","text":"six"}]},"at":1000000,"wants":{"unwraps":true}}',5986138528);
INSERT INTO "turn" VALUES(15,1,'turn-seven','input-seven',2,0,'w','hash of seven',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,5456958464);
INSERT INTO "turn" VALUES(16,1,'append/late','append/late',0,3,NULL,'Qoa1qwp4lW7dtMXZ7ruRkxjBw6LlxLdIlBCIF0Klm-Y',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'cca93a10{"sessionId":"alice","operation":"late","at":1000000,"entries":[{"at":1000000,"kind":"plugin","plugin":"notes","type":"r","body":1}],"queueMax":9}',5600951654);
INSERT INTO "turn" VALUES(17,3,'turn-asleep','input-asleep',1,0,NULL,'hash of asleep',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'3f143482[1000000,["asleep"]]',5042280329);
CREATE TABLE wait (
      n INTEGER PRIMARY KEY, id TEXT NOT NULL, key TEXT, session INTEGER NOT NULL, turn INTEGER NOT NULL, effect TEXT,
      at REAL, about TEXT, until REAL NOT NULL, is_turns INTEGER NOT NULL, asked INTEGER, answered INTEGER, nth INTEGER,
      answer TEXT, seal INTEGER NOT NULL
    , job TEXT, moved INTEGER) STRICT;
INSERT INTO "wait" VALUES(1,'wai_FI3pxaekTRnlbNmuGlVL9nhHr7',NULL,3,6,'r1.call.0.wait',1000000.0,'42d655ec{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,7,8,1,'9a473cf9{"kind":"value","value":null,"by":"ann"}',3395389014,NULL,NULL);
INSERT INTO "wait" VALUES(2,'wai_jFdK-lZVpywVHFZ5M_aUqY0SDM','"w\u0000"',1,10,'r1.call.0.wait',1000000.0,'abf927fc{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,11,NULL,NULL,NULL,4272962423,NULL,NULL);
INSERT INTO "wait" VALUES(3,'wai_ypeBEsobvcr6wjGzmiPcTaeG7_','a',3,17,'r1.call.0.wait',1000000.0,'989d1919{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,18,NULL,NULL,NULL,4167741370,NULL,NULL);
INSERT INTO "wait" VALUES(4,'wai_PiPoFgA5WUoziU9lZOGxNIu9eg','b',3,17,'r1.call.0.wait',1000000.0,'98ac2d6a{"kind":"turns","need":"all","turns":[{"sessionId":"alice","turnId":"turn-three"}]}',1000010.0,1,NULL,NULL,NULL,NULL,3919822958,NULL,NULL);
INSERT INTO "wait" VALUES(5,'wai_4WlbUCeuRCjeC-G8gozR682HZS',NULL,1,0,'r1.call.0.wait',1000000.0,'3641ece4{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,19,NULL,NULL,NULL,2503540177,'job-work',NULL);
INSERT INTO "wait" VALUES(6,'wai_4WlbUCeuRCjeC-G8gozR682HZS','jw',2,0,'r1.call.0.wait',1000000.0,'3641ece4{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,NULL,NULL,NULL,NULL,1134318288,'job-work',19);
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
CREATE INDEX job_session ON job (session);
CREATE INDEX job_live ON job (session) WHERE state < 2;
CREATE INDEX job_parent ON job (parent) WHERE parent IS NOT NULL;
CREATE INDEX job_due ON job (operation, due) WHERE owner IS NULL AND due IS NOT NULL;
CREATE INDEX job_held ON job (owner, operation) WHERE owner IS NOT NULL;
CREATE UNIQUE INDEX job_changed ON job (changed);
CREATE UNIQUE INDEX job_event_key ON job_event (job, key);
CREATE INDEX wait_job ON wait (job) WHERE key IS NOT NULL AND job IS NOT NULL;
CREATE INDEX wait_job_session ON wait (session, asked) WHERE key IS NOT NULL AND job IS NOT NULL;
CREATE INDEX wait_moved ON wait (moved) WHERE key IS NOT NULL AND moved IS NOT NULL;
CREATE UNIQUE INDEX subscription_id ON subscription (session, id);
CREATE INDEX subscription_event ON subscription (event) WHERE is_enabled = 1 AND event IS NOT NULL;
CREATE INDEX subscription_kind ON subscription (kind) WHERE is_enabled = 1;
CREATE INDEX subscription_due ON subscription (next) WHERE is_enabled = 1 AND kind >= 2 AND next IS NOT NULL;
CREATE INDEX occurrence_source ON occurrence (source);
CREATE INDEX delivery_session ON delivery (session);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('session',3);
PRAGMA application_id = 1114601324;
PRAGMA user_version = 10;
