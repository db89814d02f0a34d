-- A file of schema 1, as the code of then wrote it; v1.json is what that code answered about it.
CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), floor INTEGER NOT NULL) STRICT;
CREATE TABLE session (
    n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, parent_id TEXT, created_at REAL NOT NULL,
    revision INTEGER NOT NULL, turns INTEGER NOT NULL, head INTEGER, head_index INTEGER, usage TEXT NOT NULL,
    seal INTEGER NOT NULL,
    generation INTEGER NOT NULL, turn INTEGER, owner TEXT, process TEXT, until REAL NOT NULL
  ) STRICT;
CREATE TABLE gone (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE config (session INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE ledger (
    session INTEGER NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, nth REAL NOT NULL, calls REAL NOT NULL,
    input REAL NOT NULL, cache_read REAL NOT NULL, cache_write REAL NOT NULL, output REAL NOT NULL,
    reasoning REAL NOT NULL, unknown_calls REAL NOT NULL,
    PRIMARY KEY (session, source, model)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE state (
    session INTEGER NOT NULL, plugin TEXT NOT NULL, since INTEGER NOT NULL, body TEXT,
    PRIMARY KEY (session, plugin, since)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE segment (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, revision INTEGER NOT NULL, depth INTEGER NOT NULL,
    parent INTEGER, parent_index INTEGER, size INTEGER NOT NULL, users INTEGER NOT NULL,
    is_named INTEGER NOT NULL, is_branch INTEGER NOT NULL, name TEXT NOT NULL, entries TEXT NOT NULL
  ) STRICT;
CREATE UNIQUE INDEX segment_named ON segment (name) WHERE is_named = 1;
CREATE INDEX segment_left ON segment (session) WHERE is_named = 1;
CREATE INDEX segment_branch ON segment (session) WHERE is_branch = 1;
CREATE TABLE turn (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, input_id TEXT NOT NULL,
    state INTEGER NOT NULL, is_aside INTEGER NOT NULL, key TEXT, hash TEXT NOT NULL,
    claim INTEGER, boundary TEXT, is_shown INTEGER, ended_by INTEGER, done INTEGER,
    cancel TEXT, ended TEXT, input TEXT
  ) STRICT;
CREATE INDEX turn_session ON turn (session);
CREATE UNIQUE INDEX turn_key ON turn (session, key) WHERE key IS NOT NULL;
CREATE INDEX turn_waiting ON turn (session) WHERE state = 0;
CREATE INDEX turn_claimed ON turn (claim) WHERE claim IS NOT NULL;
CREATE INDEX turn_done ON turn (done) WHERE done IS NOT NULL;
CREATE TABLE operation (
    n INTEGER PRIMARY KEY, session INTEGER NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL, committed TEXT NOT NULL,
    UNIQUE (session, name)
  ) STRICT;
CREATE TABLE journal (k INTEGER PRIMARY KEY, size INTEGER NOT NULL, until REAL NOT NULL, events TEXT NOT NULL) STRICT;
CREATE TABLE wait (
    key TEXT PRIMARY KEY, turn INTEGER NOT NULL, until REAL NOT NULL, nth INTEGER, answer TEXT
  ) STRICT, WITHOUT ROWID;
CREATE INDEX wait_turn ON wait (turn);
CREATE INDEX wait_due ON wait (until) WHERE answer IS NULL;
CREATE TABLE note (
    turn INTEGER NOT NULL, effect TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (turn, effect, key)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE attempt (
    turn INTEGER NOT NULL, effect TEXT NOT NULL, PRIMARY KEY (turn, effect)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE blob (n INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, at REAL NOT NULL, data BLOB NOT NULL) STRICT;
INSERT INTO meta (one, floor) VALUES (1, 15);
INSERT INTO session (n, id, parent_id, created_at, revision, turns, head, head_index, usage, seal, generation, turn, owner, process, until) VALUES (1, 'main', NULL, 1, 5, 2, 6, 1, '{"input":13,"cacheRead":0,"cacheWrite":0,"output":4,"reasoning":0,"unknownCalls":0}', 2087865938, 4, 16, 'ann', 'elsewhere', 30043);
INSERT INTO session (n, id, parent_id, created_at, revision, turns, head, head_index, usage, seal, generation, turn, owner, process, until) VALUES (2, 'fork', NULL, 30, 1, 1, 10, 0, '{"input":3,"cacheRead":0,"cacheWrite":0,"output":2,"reasoning":0,"unknownCalls":0}', 3914494016, 1, NULL, NULL, NULL, 0);
INSERT INTO session (n, id, parent_id, created_at, revision, turns, head, head_index, usage, seal, generation, turn, owner, process, until) VALUES (3, 'child', 'main', 31, 2, 2, 12, 0, '{"input":6,"cacheRead":0,"cacheWrite":0,"output":4,"reasoning":0,"unknownCalls":0}', 598625300, 2, NULL, NULL, NULL, 0);
INSERT INTO session (n, id, parent_id, created_at, revision, turns, head, head_index, usage, seal, generation, turn, owner, process, until) VALUES (5, 'orphan', NULL, 33, 0, 0, 14, 0, '{"input":0,"cacheRead":0,"cacheWrite":0,"output":0,"reasoning":0,"unknownCalls":0}', 1198597198, 0, NULL, NULL, NULL, 0);
INSERT INTO gone (id) VALUES ('source');
INSERT INTO config (session, body) VALUES (1, '56c77440{"model":"n","instructions":"Be brief."}');
INSERT INTO config (session, body) VALUES (2, 'c6b33631{"model":"f"}');
INSERT INTO config (session, body) VALUES (3, '888bec80{}');
INSERT INTO config (session, body) VALUES (5, 'ded14b06{}');
INSERT INTO ledger (session, source, model, nth, calls, input, cache_read, cache_write, output, reasoning, unknown_calls) VALUES (1, 'label', 'small', 5, 1, 7, 0, 0, 0, 0, 0);
INSERT INTO ledger (session, source, model, nth, calls, input, cache_read, cache_write, output, reasoning, unknown_calls) VALUES (1, 'turn', 'm', 1, 2, 6, 0, 0, 4, 0, 0);
INSERT INTO ledger (session, source, model, nth, calls, input, cache_read, cache_write, output, reasoning, unknown_calls) VALUES (2, 'turn', 'm', 10, 1, 3, 0, 0, 2, 0, 0);
INSERT INTO ledger (session, source, model, nth, calls, input, cache_read, cache_write, output, reasoning, unknown_calls) VALUES (3, 'turn', 'm', 12, 2, 6, 0, 0, 4, 0, 0);
INSERT INTO state (session, plugin, since, body) VALUES (1, 'acme/notes', 1, 'e0a659b8{"version":"1","revision":1,"state":{"n":1}}');
INSERT INTO state (session, plugin, since, body) VALUES (1, 'acme/notes', 4, '53f8c91d{"version":"1","revision":2,"state":{"n":2}}');
INSERT INTO state (session, plugin, since, body) VALUES (4, 'acme/notes', 1, 'bf3c7782{"version":"1","revision":1,"state":{"n":9}}');
INSERT INTO state (session, plugin, since, body) VALUES (5, 'acme/notes', 0, 'bd38a12e{"version":"1","revision":1,"state":{"n":9}}');
INSERT INTO segment (n, session, revision, depth, parent, parent_index, size, users, is_named, is_branch, name, entries) VALUES (1, 1, 0, 0, NULL, NULL, 2, 3, 0, 0, 'turn-one', '85b9ebc2[{"at":20,"kind":"message","message":{"id":"'||char(1)||'.0","role":"assistant","parts":[{"kind":"text","text":"First."}]}},{"at":20,"kind":"message","message":{"id":"'||char(1)||'.1","role":"assistant","parts":[{"kind":"text","text":"Second."}]}}]');
INSERT INTO segment (n, session, revision, depth, parent, parent_index, size, users, is_named, is_branch, name, entries) VALUES (3, 1, 1, 1, 1, 1, 2, 1, 1, 0, 'op-append', '9a75db62[{"at":20,"kind":"message","message":{"id":"'||char(1)||'.0","role":"assistant","parts":[{"kind":"text","text":"Appended."}]}},{"at":20,"kind":"plugin","plugin":"acme/notes","type":"note","body":{"list":[1,null,"é\u0000😀"]}}]');
INSERT INTO segment (n, session, revision, depth, parent, parent_index, size, users, is_named, is_branch, name, entries) VALUES (6, 1, 4, 2, 3, 1, 2, 1, 0, 0, 'turn-two', '49e42c47[{"at":20,"kind":"frame","reason":"compaction","task":"Go on."},{"at":20,"kind":"message","message":{"id":"'||char(1)||'.1","role":"assistant","parts":[{"kind":"text","text":"Third."}]}}]');
INSERT INTO segment (n, session, revision, depth, parent, parent_index, size, users, is_named, is_branch, name, entries) VALUES (8, 1, 5, 1, 1, 1, 1, 1, 0, 1, 'turn-late', 'e21a3ad9[{"at":20,"kind":"message","message":{"id":"'||char(1)||'.0","role":"assistant","parts":[{"kind":"text","text":"Beside."}]}}]');
INSERT INTO segment (n, session, revision, depth, parent, parent_index, size, users, is_named, is_branch, name, entries) VALUES (10, 2, 0, 1, 1, 0, 1, 1, 0, 0, 'turn-forked', 'aebb29ba[{"at":20,"kind":"message","message":{"id":"'||char(1)||'.0","role":"assistant","parts":[{"kind":"text","text":"In the fork."}]}}]');
INSERT INTO segment (n, session, revision, depth, parent, parent_index, size, users, is_named, is_branch, name, entries) VALUES (12, 3, 0, 0, NULL, NULL, 1, 1, 0, 0, 'turn-small', '201f91b5[{"at":20,"kind":"message","message":{"id":"'||char(1)||'.0","role":"assistant","parts":[{"kind":"text","text":"In the child."}]}}]');
INSERT INTO segment (n, session, revision, depth, parent, parent_index, size, users, is_named, is_branch, name, entries) VALUES (14, 4, 0, 0, NULL, NULL, 1, 1, 1, 0, 'turn-gone', '86776ed6[{"at":20,"kind":"message","message":{"id":"'||char(1)||'.0","role":"assistant","parts":[{"kind":"text","text":"Of one that is gone."}]}}]');
INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, claim, boundary, is_shown, ended_by, done, cancel, ended, input) VALUES (1, 1, 'turn-one', 'inp-one', 1, 0, 'k-one', 'hash of one', NULL, NULL, NULL, NULL, 2, NULL, '3f7057e3{"at":20,"outcome":{"kind":"told","node":1},"usage":{"input":3,"cacheRead":0,"cacheWrite":0,"output":2,"reasoning":0,"unknownCalls":0},"size":2,"revision":1}', NULL);
INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, claim, boundary, is_shown, ended_by, done, cancel, ended, input) VALUES (6, 1, 'turn-two', 'inp-two', 1, 0, NULL, 'hash of two', NULL, NULL, NULL, NULL, 7, NULL, 'd42b9d73{"at":20,"outcome":{"kind":"told","node":1},"usage":{"input":3,"cacheRead":0,"cacheWrite":0,"output":2,"reasoning":0,"unknownCalls":0},"size":2,"revision":5}', NULL);
INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, claim, boundary, is_shown, ended_by, done, cancel, ended, input) VALUES (8, 1, 'turn-late', 'inp-late', 1, 0, NULL, 'hash of late', NULL, NULL, NULL, NULL, 9, NULL, 'b5009900{"at":20,"outcome":{"kind":"told","node":0},"usage":{"input":3,"cacheRead":0,"cacheWrite":0,"output":2,"reasoning":0,"unknownCalls":0},"size":1,"revision":5,"head":"turn-two.1","plugins":{"acme/notes":{"version":"1","revision":2,"state":{"n":2}}},"branch":"turn-late.0"}', NULL);
INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, claim, boundary, is_shown, ended_by, done, cancel, ended, input) VALUES (10, 2, 'turn-forked', 'inp-forked', 1, 0, NULL, 'hash of forked', NULL, NULL, NULL, NULL, 11, NULL, '86e4fd01{"at":20,"outcome":{"kind":"told","node":0},"usage":{"input":3,"cacheRead":0,"cacheWrite":0,"output":2,"reasoning":0,"unknownCalls":0},"size":1,"revision":1}', NULL);
INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, claim, boundary, is_shown, ended_by, done, cancel, ended, input) VALUES (12, 3, 'turn-small', 'inp-small', 1, 0, NULL, 'hash of small', NULL, NULL, NULL, NULL, 13, NULL, '787f2ad2{"at":20,"outcome":{"kind":"told","node":0},"usage":{"input":3,"cacheRead":0,"cacheWrite":0,"output":2,"reasoning":0,"unknownCalls":0},"size":1,"revision":1}', NULL);
INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, claim, boundary, is_shown, ended_by, done, cancel, ended, input) VALUES (16, 1, 'turn-open', 'inp-open', 1, 0, 'k-open', 'hash of open', NULL, NULL, NULL, NULL, NULL, '76afe877{"requestId":"r","reason":"Enough.","at":44}', NULL, 'fcbfc7e4{"message":{"role":"user","parts":[{"kind":"text","text":"Say open."}]},"at":40}');
INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, claim, boundary, is_shown, ended_by, done, cancel, ended, input) VALUES (17, 1, 'turn-aside', 'inp-aside', 1, 1, NULL, 'hash of aside', 16, 'r1.after-work', 1, NULL, NULL, NULL, NULL, '9aacf359{"message":{"role":"user","parts":[{"kind":"text","text":"Say aside."}]},"at":41}');
INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, claim, boundary, is_shown, ended_by, done, cancel, ended, input) VALUES (18, 1, 'turn-back', 'inp-back', 1, 1, 'k-back', 'hash of back', 16, 'r2.after-work', 0, NULL, NULL, NULL, NULL, 'dea18c35{"message":{"role":"user","parts":[{"kind":"text","text":"Say back."}]},"at":41}');
INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, claim, boundary, is_shown, ended_by, done, cancel, ended, input) VALUES (19, 1, 'turn-next', 'inp-next', 0, 0, 'k-next', 'hash of next', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '98379640{"message":{"role":"user","parts":[{"kind":"text","text":"Say next."}]},"at":45,"wants":{"output":{"type":"object"}}}');
INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, claim, boundary, is_shown, ended_by, done, cancel, ended, input) VALUES (20, 1, 'turn-taken-back', 'inp-taken-back', 2, 0, 'k-again', 'hash of taken-back', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, claim, boundary, is_shown, ended_by, done, cancel, ended, input) VALUES (21, 1, 'turn-last', 'inp-last', 0, 0, NULL, 'hash of last', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '33ed931d{"message":{"role":"user","parts":[{"kind":"text","text":"Say last."}]},"at":47}');
INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, claim, boundary, is_shown, ended_by, done, cancel, ended, input) VALUES (22, 3, 'turn-idle', 'inp-idle', 1, 0, NULL, 'hash of idle', NULL, NULL, NULL, NULL, 24, NULL, 'f08eed01{"at":20,"outcome":{"kind":"stopped","by":"plugin","code":"c","reason":"r","text":""},"usage":{"input":3,"cacheRead":0,"cacheWrite":0,"output":2,"reasoning":0,"unknownCalls":0},"size":0,"revision":2,"head":"turn-small.0"}', NULL);
INSERT INTO turn (n, session, id, input_id, state, is_aside, key, hash, claim, boundary, is_shown, ended_by, done, cancel, ended, input) VALUES (23, 3, 'turn-waits', 'inp-waits', 0, 0, NULL, 'hash of waits', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'c0d6869b{"message":{"role":"user","parts":[{"kind":"text","text":"Say waits."}]},"at":49}');
INSERT INTO operation (n, session, name, hash, committed) VALUES (3, 1, 'op-append', 'OLcqfh_suxTg4d0xogjA6KcwWHYt9TNRU6DCcWp7lnU', '8d5d88d4{"kind":"committed","revision":2,"head":"op-append.1","cursor":"3"}');
INSERT INTO operation (n, session, name, hash, committed) VALUES (4, 1, 'op-configure', 'ZUxTHF39VTEw4DR238Fm1bDZeTXl6SV93qxQ725zDv4', '0945fbce{"kind":"committed","revision":3,"head":"op-append.1","cursor":"4"}');
INSERT INTO operation (n, session, name, hash, committed) VALUES (5, 1, ''||char(1)||'"op\u0000command"', '6hctCaadqktwz-d-rKXS6woT7Pqjf01QV1EaXnH5jIs', 'd97656c8{"kind":"committed","revision":4,"head":"op-append.1","cursor":"5"}');
INSERT INTO journal (k, size, until, events) VALUES (4194304, 1, 0, '4be4bbe4[{"kind":"opened","at":40,"sessionId":"main","turnId":"turn-open","inputId":"inp-open","step":1,"protocol":{"id":"tool-calls","version":1},"host":"journal","plugins":[],"limits":{},"config":{"model":"n","instructions":"Be brief."},"generation":4}]');
INSERT INTO journal (k, size, until, events) VALUES (4194305, 2, 30042, '8f7266b2[{"kind":"slept","at":42,"effect":"a"},{"kind":"slept","at":42,"effect":"b"}]');
INSERT INTO journal (k, size, until, events) VALUES (4194307, 1, 30043, '11fe8c92[{"kind":"bounded","at":43,"effect":"r1.after-work","inputs":[{"inputId":"inp-aside","message":{"role":"user","parts":[{"kind":"text","text":"Say aside."}]}}]}]');
INSERT INTO wait (key, turn, until, nth, answer) VALUES ('w1', 16, 99, 1, '26b5fe31{"kind":"value","value":"yes"}');
INSERT INTO wait (key, turn, until, nth, answer) VALUES ('w2', 16, 100, NULL, NULL);
INSERT INTO note (turn, effect, key, value) VALUES (16, 'e', 'k', '2281d8a5{"paid":true}');
INSERT INTO attempt (turn, effect) VALUES (16, 'e');
INSERT INTO blob (n, hash, at, data) VALUES (1, 'QLJrebjGqOPzbpaWMBxPfxUmIC5EkHwmWdEUkcPm0IY', 50, x'6b657074206279746573');
INSERT INTO sqlite_sequence (name, seq) VALUES ('session', 5);
PRAGMA application_id = 1114601324;
PRAGMA user_version = 1;
