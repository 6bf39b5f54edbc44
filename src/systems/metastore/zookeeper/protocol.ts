/** Requests and answers of ZooKeeper 3.6 and later that the adapter uses. */
import type { JuteReader, JuteWriter } from './jute.js'

/** Codes of operations. */
export const OpCode = {
  /** A creation within a multi; its answer has no stat. */
  createInMulti: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  sync: 9,
  ping: 11,
  getChildren: 8,
  check: 13,
  multi: 14,
  create: 15,
  createContainer: 19,
  addWatch: 106,
  closeSession: -11,
  error: -1,
} as const

/** Codes of errors. */
export const ZkError = {
  ok: 0,
  connectionLoss: -4,
  badArguments: -8,
  noNode: -101,
  badVersion: -103,
  noChildrenForEphemerals: -108,
  nodeExists: -110,
  notEmpty: -111,
  sessionExpired: -112,
} as const

/** Flags of creations. */
export const CreateFlag = {
  persistent: 0,
  ephemeral: 1,
  sequential: 2,
  container: 4,
} as const

/** Types of events. */
export const EventType = { created: 1, deleted: 2, changed: 3 } as const

/** ZooKeeper's metadata of a node. */
export interface NodeStat {
  readonly czxid: number
  readonly mzxid: number
  readonly ctime: number
  readonly mtime: number
  readonly version: number
  /** Session of an ephemeral node; 0 = persistent, or a container. */
  readonly owner: bigint
  readonly children: number
}

/** An operation: part of a multi, or a single request. */
export type ZkOperation =
  | {
      readonly op: 'create'
      readonly path: string
      readonly data: Uint8Array
      readonly flags: number
    }
  | {
      readonly op: 'setData'
      readonly path: string
      readonly data: Uint8Array
      readonly version: number
    }
  | { readonly op: 'delete' | 'check'; readonly path: string; readonly version: number }

/** Outcome of an operation. */
export interface ZkOutcome {
  readonly error: number
  readonly path?: string
  readonly stat?: NodeStat
}

/** The code of an operation. */
export function codeOf(operation: ZkOperation): number {
  if (operation.op !== 'create') return OpCode[operation.op]
  return operation.flags === CreateFlag.container ? OpCode.createContainer : OpCode.create
}

const allPermissions = 31

/** Writes the body of an operation. */
export function writeOperation(writer: JuteWriter, operation: ZkOperation): void {
  writer.text(operation.path)
  switch (operation.op) {
    case 'create':
      writer.buffer(operation.data)
      writer.int(1).int(allPermissions).text('world').text('anyone')
      writer.int(operation.flags)
      return
    case 'setData':
      writer.buffer(operation.data).int(operation.version)
      return
    case 'delete':
    case 'check':
      writer.int(operation.version)
  }
}

/** Reads the answer to an operation that succeeded. */
export function readOutcome(reader: JuteReader, code: number): ZkOutcome {
  if (code === OpCode.create || code === OpCode.createContainer) {
    const path = reader.text()
    return { error: 0, path, stat: readStat(reader) }
  }
  if (code === OpCode.createInMulti) return { error: 0, path: reader.text() }
  if (code === OpCode.setData) return { error: 0, stat: readStat(reader) }
  return { error: 0 }
}

/** Writes the operations of a multi. */
export function writeMulti(writer: JuteWriter, operations: readonly ZkOperation[]): void {
  for (const operation of operations) {
    const code = codeOf(operation)
    writer
      .int(code === OpCode.create ? OpCode.createInMulti : code)
      .bool(false)
      .int(-1)
    writeOperation(writer, operation)
  }
  writer.int(-1).bool(true).int(-1)
}

/** Reads the outcomes of a multi. */
export function readMulti(reader: JuteReader): ZkOutcome[] {
  const outcomes: ZkOutcome[] = []
  for (;;) {
    const code = reader.int()
    const isEnd = reader.bool()
    reader.int()
    if (isEnd) return outcomes
    if (code === OpCode.error) outcomes.push({ error: reader.int() })
    else outcomes.push(readOutcome(reader, code))
  }
}

/** Reads a stat. */
export function readStat(reader: JuteReader): NodeStat {
  const czxid = Number(reader.long())
  const mzxid = Number(reader.long())
  const ctime = Number(reader.long())
  const mtime = Number(reader.long())
  const version = reader.int()
  reader.int()
  reader.int()
  const owner = reader.long()
  reader.int()
  const children = reader.int()
  reader.long()
  return { czxid, mzxid, ctime, mtime, version, owner, children }
}
