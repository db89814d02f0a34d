-- A file of schema 9, as the code of then wrote it; v9.json is what that code answered about it.
CREATE TABLE attempt (
    turn INTEGER NOT NULL, effect TEXT NOT NULL, seal INTEGER, PRIMARY KEY (turn, effect)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE blob (n INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, at REAL NOT NULL, data BLOB NOT NULL, sweep INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "blob" VALUES(1,'QLJrebjGqOPzbpaWMBxPfxUmIC5EkHwmWdEUkcPm0IY',1794946988471.0,X'6B657074206279746573',0);
CREATE TABLE config (session INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
INSERT INTO "config" VALUES(1,'c6b69472{"model":"house/model"}');
INSERT INTO "config" VALUES(2,'b053ad4f{"model":"house/model"}');
CREATE TABLE delivery (
    occurrence INTEGER NOT NULL, nth INTEGER NOT NULL, session INTEGER NOT NULL, subscription TEXT NOT NULL,
    revision INTEGER NOT NULL, job TEXT, turn TEXT, is_lost INTEGER NOT NULL, seal INTEGER NOT NULL,
    PRIMARY KEY (occurrence, nth)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "delivery" VALUES(1,0,1,'clock',1,'job-tick-clock',NULL,0,3353528581);
CREATE TABLE gone (id TEXT PRIMARY KEY, n INTEGER, states INTEGER, seal INTEGER) STRICT, WITHOUT ROWID;
INSERT INTO "gone" VALUES('gone',3,0,331488133);
CREATE TABLE job (
      n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session INTEGER NOT NULL, kind TEXT NOT NULL,
      is_hidden INTEGER NOT NULL, recovery INTEGER NOT NULL, operation TEXT, parent TEXT, state INTEGER NOT NULL,
      owner TEXT, generation INTEGER NOT NULL, is_parked INTEGER NOT NULL, due REAL, awaits TEXT, seq INTEGER NOT NULL,
      changed INTEGER NOT NULL, moves TEXT NOT NULL, seal INTEGER NOT NULL
    ) STRICT;
INSERT INTO "job" VALUES(1,'job-late',1,'task',0,0,'acme/notes.sum',NULL,0,NULL,0,0,1000700.0,NULL,1,2,'f14e9902{"sessionId":"main","state":"running","createdAt":1000000,"starts":0,"steps":0,"wakes":0}',3590720774);
INSERT INTO "job" VALUES(2,'job-held',1,'task',0,0,'notes.index',NULL,0,'ann',1,0,NULL,NULL,4,13,'1e7f75b8{"sessionId":"main","state":"running","createdAt":1000000,"starts":1,"steps":2,"wakes":0,"startedAt":1000000}',3075460381);
INSERT INTO "job" VALUES(3,'job-parked',1,'task',0,0,'notes.index',NULL,0,NULL,1,1,1000900.0,'{"jobs":["job-held"],"need":"all"}',3,14,'121c0c79{"sessionId":"main","state":"running","createdAt":1000000,"starts":1,"steps":1,"wakes":0,"startedAt":1000000}',323619336);
INSERT INTO "job" VALUES(4,'job-over',1,'task',0,0,'notes.index',NULL,2,NULL,1,0,NULL,NULL,4,15,'fa3795ed{"sessionId":"main","state":"completed","createdAt":1000000,"starts":1,"steps":0,"wakes":1,"startedAt":1000000,"endedAt":1000000,"result":{"sum":3}}',2260860739);
INSERT INTO "job" VALUES(5,'job-moved',2,'task',0,0,'notes.index',NULL,0,'ann',1,0,NULL,NULL,3,16,'99456db3{"sessionId":"child","state":"running","createdAt":1000000,"starts":1,"steps":0,"wakes":0,"startedAt":1000000}',1439933798);
INSERT INTO "job" VALUES(6,'job-bound',1,'task',1,1,'',NULL,0,'ann',1,0,NULL,NULL,2,18,'85a9b1d7{"sessionId":"main","state":"running","createdAt":1000000,"starts":1,"steps":0,"wakes":0,"startedAt":1000000}',325207951);
INSERT INTO "job" VALUES(7,'job-external',1,'external',0,2,NULL,NULL,1,NULL,0,0,NULL,NULL,2,20,'49951305{"sessionId":"main","state":"idle","createdAt":1000000,"starts":0,"steps":0,"wakes":0}',2061959678);
INSERT INTO "job" VALUES(8,'job-due',1,'task',0,0,'notes.index','job/job-held',0,NULL,0,0,0.0,NULL,2,22,'02739448{"sessionId":"main","state":"running","createdAt":1000000,"starts":0,"steps":0,"wakes":0}',810649116);
INSERT INTO "job" VALUES(9,'job-tick-clock',1,'task',0,0,'notes.index',NULL,0,NULL,0,0,0.0,NULL,1,23,'664ff9c0{"sessionId":"main","state":"running","createdAt":1000000,"starts":0,"steps":0,"wakes":0}',135893327);
CREATE TABLE job_await (
      awaited TEXT NOT NULL, job INTEGER NOT NULL, PRIMARY KEY (awaited, job)
    ) STRICT, WITHOUT ROWID;
INSERT INTO "job_await" VALUES('job-held',3);
CREATE TABLE job_event (k INTEGER PRIMARY KEY, job INTEGER NOT NULL, key TEXT NOT NULL, event TEXT NOT NULL) STRICT;
INSERT INTO "job_event" VALUES(4194305,1,'spawned','ceaa7c1b{"kind":"spawned","job":{"id":"job-late","sessionId":"main","kind":"task","label":"to late","visibility":"managed","recovery":"rerunnable","wake":"none","onParentEnd":"keep","at":1000000,"operation":"acme/notes.sum","input":{"name":"late"},"notBefore":1000700},"at":1000000}');
INSERT INTO "job_event" VALUES(8388609,2,'spawned','df88d436{"kind":"spawned","job":{"id":"job-held","sessionId":"main","kind":"task","label":"to held","visibility":"managed","recovery":"rerunnable","wake":"none","onParentEnd":"keep","at":1000000,"operation":"notes.index","input":{"name":"held"}},"at":1000000}');
INSERT INTO "job_event" VALUES(8388610,2,'started/1','4f4d388e{"kind":"started","generation":1,"at":1000000}');
INSERT INTO "job_event" VALUES(8388611,2,'step/a','45593736{"kind":"stepped","at":1000000,"name":"a","value":{"deep":[1]}}');
INSERT INTO "job_event" VALUES(8388612,2,'step/b','323a642f{"kind":"stepped","at":1000000,"name":"b","value":"b"}');
INSERT INTO "job_event" VALUES(12582913,3,'spawned','33d369c6{"kind":"spawned","job":{"id":"job-parked","sessionId":"main","kind":"task","label":"to parked","visibility":"managed","recovery":"rerunnable","wake":"none","onParentEnd":"keep","at":1000000,"operation":"notes.index","input":{"name":"parked"}},"at":1000000}');
INSERT INTO "job_event" VALUES(12582914,3,'started/1','c65d3471{"kind":"started","generation":1,"at":1000000}');
INSERT INTO "job_event" VALUES(12582915,3,'step/a','3298144c{"kind":"stepped","at":1000000,"name":"a","value":"a"}');
INSERT INTO "job_event" VALUES(16777217,4,'spawned','19bb7c96{"kind":"spawned","job":{"id":"job-over","sessionId":"main","kind":"task","label":"to over","visibility":"managed","recovery":"rerunnable","wake":"none","onParentEnd":"keep","at":1000000,"operation":"notes.index","input":{"name":"over"}},"at":1000000}');
INSERT INTO "job_event" VALUES(16777218,4,'started/1','56b79929{"kind":"started","generation":1,"at":1000000}');
INSERT INTO "job_event" VALUES(16777219,4,'end','895baa1d{"kind":"ended","at":1000000,"state":"completed","result":{"sum":3}}');
INSERT INTO "job_event" VALUES(16777220,4,'wake/input-told','781968b6{"kind":"woke","inputId":"input-told","at":1000000}');
INSERT INTO "job_event" VALUES(20971521,5,'spawned','3ceef344{"kind":"spawned","job":{"id":"job-moved","sessionId":"main","kind":"task","label":"to moved","visibility":"managed","recovery":"rerunnable","wake":"none","onParentEnd":"keep","at":1000000,"operation":"notes.index","input":{"name":"moved"},"about":{"file":{"kind":"attachment","hash":"QLJrebjGqOPzbpaWMBxPfxUmIC5EkHwmWdEUkcPm0IY","mediaType":"text/plain"}}},"at":1000000}');
INSERT INTO "job_event" VALUES(20971522,5,'started/1','cc44e6c7{"kind":"started","generation":1,"at":1000000}');
INSERT INTO "job_event" VALUES(20971523,5,'transferred/3','4ce33eb1{"kind":"transferred","to":"child","at":1000000}');
INSERT INTO "job_event" VALUES(25165825,6,'spawned','3b11a692{"kind":"spawned","job":{"id":"job-bound","sessionId":"main","kind":"task","label":"to bound","visibility":"hidden","recovery":"owner-bound","wake":"none","onParentEnd":"keep","at":1000000},"at":1000000}');
INSERT INTO "job_event" VALUES(25165826,6,'started/1','3d0035d1{"kind":"started","generation":1,"at":1000000}');
INSERT INTO "job_event" VALUES(29360129,7,'spawned','eda27247{"kind":"spawned","job":{"id":"job-external","sessionId":"main","kind":"external","label":"to external","visibility":"managed","recovery":"external","wake":"none","onParentEnd":"keep","at":1000000},"at":1000000}');
INSERT INTO "job_event" VALUES(29360130,7,'idle','b3749f8c{"kind":"transitioned","at":1000000,"state":"idle"}');
INSERT INTO "job_event" VALUES(33554433,8,'spawned','11e270cd{"kind":"spawned","job":{"id":"job-due","sessionId":"main","kind":"task","label":"to due","visibility":"managed","recovery":"rerunnable","wake":"none","onParentEnd":"cancel","at":1000000,"operation":"notes.index","input":{"name":"due"},"parent":{"jobId":"job-held"}},"at":1000000}');
INSERT INTO "job_event" VALUES(33554434,8,'go','0a09cfdc{"kind":"signalled","at":1000000,"name":"go","payload":{"a":1}}');
INSERT INTO "job_event" VALUES(37748737,9,'spawned','5f699ad6{"kind":"spawned","job":{"id":"job-tick-clock","sessionId":"main","kind":"task","label":"to tick-clock","visibility":"managed","recovery":"rerunnable","wake":"none","onParentEnd":"keep","at":1000000,"operation":"notes.index","input":{"name":"tick-clock"}},"at":1000000}');
CREATE TABLE job_line (
    job INTEGER NOT NULL, n INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (job, n)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "job_line" VALUES(2,1,'9804d7ae{"at":1000000,"channel":"out","text":"hello"}');
INSERT INTO "job_line" VALUES(2,2,'86cb31ea{"at":1000000,"channel":"err","text":"oops"}');
CREATE TABLE job_owner (
      id TEXT PRIMARY KEY, process TEXT NOT NULL, until REAL NOT NULL, seal INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
INSERT INTO "job_owner" VALUES('ann','elsewhere',1030000.0,3564894433);
CREATE TABLE job_said (
    job INTEGER PRIMARY KEY, last INTEGER NOT NULL, lines INTEGER NOT NULL, key TEXT, since INTEGER NOT NULL,
    taken INTEGER NOT NULL, seal INTEGER NOT NULL
  ) STRICT;
INSERT INTO "job_said" VALUES(2,2,2,'k',0,2,3723788308);
CREATE TABLE journal (k INTEGER PRIMARY KEY, size INTEGER NOT NULL, until REAL NOT NULL, events TEXT NOT NULL) STRICT;
INSERT INTO "journal" VALUES(4194304,1,0.0,'863182ad[{"at":1000000,"step":1,"protocol":{"id":"tool-calls","version":1},"host":"journal","plugins":[],"config":{"model":"house/model"},"generation":2}]');
INSERT INTO "journal" VALUES(4194305,2,0.0,'5f5f1283[{"kind":"slept","at":1000000,"effect":"a"},{"kind":"slept","at":1000000,"effect":"b"}]');
INSERT INTO "journal" VALUES(8388608,1,0.0,'cbb87202[{"at":1000000,"step":1,"protocol":{"id":"tool-calls","version":1},"host":"journal","plugins":[],"config":{"model":"house/model"},"generation":1}]');
INSERT INTO "journal" VALUES(8388609,1,0.0,'84e18cc9[{"kind":"slept","at":1000000,"effect":"a"}]');
CREATE TABLE ledger (
    session INTEGER NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, nth REAL NOT NULL, calls REAL NOT NULL,
    input REAL NOT NULL, cache_read REAL NOT NULL, cache_write REAL NOT NULL, output REAL NOT NULL,
    reasoning REAL NOT NULL, unknown_calls REAL NOT NULL, estimated_input REAL NOT NULL DEFAULT 0, estimated_output REAL NOT NULL DEFAULT 0, seal INTEGER,
    PRIMARY KEY (session, source, model)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "ledger" VALUES(1,'turn','house/model',2.0,1.0,3.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,748341683);
CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), floor INTEGER NOT NULL, gone INTEGER NOT NULL DEFAULT 0, seal INTEGER NOT NULL DEFAULT 0, job_floor INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "meta" VALUES(1,0,1,1672663948,17);
CREATE TABLE note (
    turn INTEGER NOT NULL, effect TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (turn, effect, key)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE occurrence (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source TEXT NOT NULL, at REAL NOT NULL, deliveries INTEGER NOT NULL,
    payload TEXT NOT NULL, seal INTEGER NOT NULL
  ) STRICT;
INSERT INTO "occurrence" VALUES(1,'occurrence-tick','event:mail.arrived',1000000.0,1,'3ceb849f{"payload":{"name":"tick"}}',1071357813);
CREATE TABLE operation (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL, committed TEXT NOT NULL,
    UNIQUE (session, name)
  ) STRICT;
CREATE TABLE operation_note (
    session INTEGER NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (session, operation, key)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE options (session INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
INSERT INTO "options" VALUES(1,'ffaa1d5f{"acme/notes":{"depth":1}}');
CREATE TABLE parked (
      session INTEGER PRIMARY KEY, turn INTEGER NOT NULL, wake REAL NOT NULL, waits TEXT NOT NULL, seal INTEGER NOT NULL
    ) STRICT;
INSERT INTO "parked" VALUES(2,6,1005000.0,'["wai_VerlC3XispkPLBi-hMoHlyeoX2"]',2560805765);
CREATE TABLE segment (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, revision INTEGER NOT NULL, depth INTEGER NOT NULL,
    parent INTEGER, parent_index INTEGER, size INTEGER NOT NULL, users INTEGER NOT NULL,
    is_named INTEGER NOT NULL, is_branch INTEGER NOT NULL, name TEXT NOT NULL, entries TEXT NOT NULL
  ) STRICT;
INSERT INTO "segment" VALUES(1,1,0,0,NULL,NULL,2,1,0,0,'turn-one','b06d16c1[[1000000,1,["First."]],[0,1,["Second."]]]');
CREATE TABLE session (
    n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, parent_id TEXT, created_at REAL NOT NULL,
    revision INTEGER NOT NULL, turns INTEGER NOT NULL, head INTEGER, head_index INTEGER, usage TEXT NOT NULL,
    seal INTEGER NOT NULL,
    generation INTEGER NOT NULL, turn INTEGER, owner TEXT, process TEXT, until REAL NOT NULL
  , origin_id TEXT, origin_at TEXT, own_rows INTEGER NOT NULL DEFAULT 0, written INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "session" VALUES(1,'main',NULL,1000000.0,1,1,1,1,'[3,0]',610127313,2,7,'ann','elsewhere',0.0,NULL,NULL,19,3);
INSERT INTO "session" VALUES(2,'child','main',1000000.0,0,0,NULL,NULL,'[0,0]',163365080,2,6,'ann','elsewhere',0.0,NULL,NULL,5,2);
CREATE TABLE state (
    session INTEGER NOT NULL, plugin TEXT NOT NULL, since INTEGER NOT NULL, body TEXT,
    PRIMARY KEY (session, plugin, since)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "state" VALUES(1,'acme/notes',1,'e0a659b8{"version":"1","revision":1,"state":{"n":1}}');
CREATE TABLE subscription (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, id TEXT NOT NULL, incarnation TEXT NOT NULL,
    revision INTEGER NOT NULL, is_enabled INTEGER NOT NULL, kind INTEGER NOT NULL, event TEXT, source TEXT, next REAL,
    after TEXT, body TEXT NOT NULL, seal INTEGER NOT NULL
  ) STRICT;
INSERT INTO "subscription" VALUES(1,1,'clock','main/clock',1,1,3,NULL,NULL,1000010.0,NULL,'8ce16c31{"label":"to clock","on":{"kind":"interval","everyMs":10,"from":1000000,"missed":"once"},"starts":{"kind":"turn","text":"Do clock."},"createdAt":1000000,"changedAt":1000000}',1211427642);
CREATE TABLE sweep (n INTEGER PRIMARY KEY, fact INTEGER NOT NULL) STRICT;
CREATE TABLE turn (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, input_id TEXT NOT NULL,
    state INTEGER NOT NULL, is_aside INTEGER NOT NULL, key TEXT, hash TEXT NOT NULL,
    claim INTEGER, boundary TEXT, is_shown INTEGER, ended_by INTEGER, done INTEGER,
    cancel TEXT, ended TEXT, input TEXT
  , seal INTEGER) STRICT;
INSERT INTO "turn" VALUES(1,1,'turn-one','input-one',1,0,'k-one','hash of one',NULL,NULL,NULL,NULL,2,NULL,'69f83600{"at":1000005,"outcome":{"kind":"stopped","by":"plugin","code":"law","reason":"The law says so.","text":"well"},"usage":[3,0],"size":2,"revision":1}',NULL,6737880841);
INSERT INTO "turn" VALUES(4,1,'turn-told','input-told',0,2,'wake told','hash of told',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'207d6187[1000000,["told"]]',975547738);
INSERT INTO "turn" VALUES(6,2,'turn-sleeps','input-sleeps',1,0,NULL,'hash of sleeps',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'3616828b[1000000,["sleeps"]]',2858032513);
INSERT INTO "turn" VALUES(7,1,'turn-open','input-open',1,0,NULL,'hash of open',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'3f0f468a[1000000,["open"]]',6083467470);
INSERT INTO "turn" VALUES(8,1,'turn-next','input-next',0,0,NULL,'hash of next',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'9bc89eb6[1000000,["next"]]',1915131598);
CREATE TABLE wait (
      n INTEGER PRIMARY KEY, id TEXT NOT NULL, key TEXT, session INTEGER NOT NULL, turn INTEGER NOT NULL, effect TEXT,
      at REAL, about TEXT, until REAL NOT NULL, is_turns INTEGER NOT NULL, asked INTEGER, answered INTEGER, nth INTEGER,
      answer TEXT, seal INTEGER NOT NULL
    , job TEXT, moved INTEGER) STRICT;
INSERT INTO "wait" VALUES(1,'wai_YMVZD3Lu8pL5VFr8KL9jypHSAW','w1',1,0,'r1.call.0.wait',1000000.0,'3641ece4{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,3,NULL,NULL,NULL,2866422513,'job-held',NULL);
INSERT INTO "wait" VALUES(2,'wai_Bvj66jtfaXaRttBjoHuk_68ezp',NULL,1,0,'r1.call.0.wait',1000000.0,'3641ece4{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,5,NULL,NULL,NULL,3964461333,'job-moved',NULL);
INSERT INTO "wait" VALUES(3,'wai_Bvj66jtfaXaRttBjoHuk_68ezp','w2',2,0,'r1.call.0.wait',1000000.0,'3641ece4{"kind":"approval","call":{"id":"c1","name":"shell","input":{"run":"ls"}},"reason":"It runs a command.","argsHash":"O5gC3URj6Zf25IJtWEHb3_lu9wif7GA-8c141MkQkfM"}',1000010.0,0,NULL,NULL,NULL,NULL,197483352,'job-moved',5);
INSERT INTO "wait" VALUES(4,'wai_VerlC3XispkPLBi-hMoHlyeoX2','w3',2,6,'r1.call.0.wait',1000000.0,'c1a52812{"kind":"turns","need":"all","turns":[],"jobs":["job-held"]}',1005000.0,1,NULL,NULL,NULL,NULL,2277282727,NULL,NULL);
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
PRAGMA user_version = 9;
