import {
  Agenda,
  Appended,
  Booked,
  Change,
  ChangeAnswer,
  CommitAnswer,
  EndedTurn,
  FoundTurn,
  JobSpawn,
  Lease,
  ListedSession,
  Mail,
  NewInput,
  NewSession,
  NewWait,
  OpenAnswer,
  Opening,
  Overview,
  Owner,
  ParkAnswer,
  ParkedTurn,
  Receipt,
  SessionChange,
  SessionOptions,
  Store,
  StoredSession,
  Terminal,
} from "../store.js";
import { Awaitable } from "../../model/awaitable.js";
import { CancelAnswer, CancelRequest } from "../../model/outcome.js";
import { Cursor, EffectName, NodeId, SessionId, TurnId } from "../../model/ids.js";
import { Engine } from "./port.js";
import { Json } from "../../model/json.js";
import { Segment, ViewPage } from "../../graph/segment.js";
import { TurnEvent } from "../../turn/event.js";
/** A store that runs the rules on an engine. */
declare class RuleStore<E extends Engine = Engine> implements Store {
  #private;
  readonly kind: string;
  readonly isDurable: boolean;
  readonly blobs: Store["blobs"];
  readonly live?: NonNullable<Store["live"]>;
  protected readonly engine: E;
  constructor(engine: E);
  create(session: NewSession): Awaitable<StoredSession>;
  load(id: SessionId): Awaitable<StoredSession | undefined>;
  has(id: SessionId): Awaitable<boolean>;
  list(page?: Parameters<Store["list"]>[0]): Awaitable<readonly ListedSession[]>;
  fork(from: SessionId, to: NewSession, at?: NodeId): Awaitable<StoredSession>;
  setOptions(id: SessionId, options: SessionOptions): Awaitable<SessionOptions>;
  delete(id: SessionId): Awaitable<void>;
  view(id: SessionId, { from, max, toFrame }?: ViewPage): Awaitable<readonly Segment[]>;
  holds(id: SessionId, node: NodeId): Awaitable<boolean>;
  accept(input: NewInput, owner: Owner, opening: Opening | undefined, pendingMax: number): Awaitable<Receipt>;
  open(id: SessionId, owner: Owner, now: number, opening: Opening, forOperation?: true): Awaitable<OpenAnswer>;
  renew(lease: Lease, now: number): Awaitable<Mail>;
  release(lease: Lease): Awaitable<void>;
  append(lease: Lease, seq: number, events: readonly TurnEvent[], now: number, waits?: readonly NewWait[], spawns?: readonly JobSpawn[]): Awaitable<Appended>;
  park(lease: Lease, parked: ParkedTurn, now: number): Awaitable<ParkAnswer>;
  journal(turn: TurnId, after: number): Awaitable<readonly TurnEvent[]>;
  commit(lease: Lease, ended: EndedTurn): Awaitable<CommitAnswer>;
  cancel(turn: TurnId, request: CancelRequest, session?: SessionId): Awaitable<CancelAnswer>;
  find(turn: TurnId): Awaitable<FoundTurn | undefined>;
  terminal(turn: TurnId): Awaitable<Terminal | undefined>;
  readonly turns: Store["turns"];
  readonly inputs: Store["inputs"];
  readonly waits: Store["waits"];
  note(turn: TurnId, effect: EffectName, key: string, value?: Json): Awaitable<Json | undefined>;
  attempt(turn: TurnId, effect: EffectName): Awaitable<"again" | "first">;
  apply(change: SessionChange): Awaitable<ChangeAnswer>;
  readonly operations: Store["operations"];
  agenda(now: number, max: number, operations?: readonly string[]): Awaitable<Agenda>;
  overview(max: number, now?: number): Awaitable<Overview>;
  changes(after: Cursor | undefined, options: Parameters<Store["changes"]>[1]): Awaitable<readonly Change[]>;
  latest(): Awaitable<Cursor | undefined>;
  booked(tree: SessionId): Awaitable<readonly Booked[]>;
  readonly jobs: Store["jobs"];
  readonly triggers: Store["triggers"];
  close(): Awaitable<void>;
}
export { RuleStore };
