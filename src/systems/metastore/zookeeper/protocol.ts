/** Requests and answers of ZooKeeper 3.6 and later that the adapter uses, and their bytes. */
import { ByteReader } from '../../bytes/byte-reader.js'
import { ByteWriter } from '../../bytes/byte-writer.js'

/** Writes a message of Jute, ZooKeeper's serialization, after its length. */
export class JuteWriter {
  readonly #writer = new ByteWriter()

  constructor() {
    this.#writer.int32(0)
  }

  int(value: number): this {
    this.#writer.int32(value)
    return this
  }

  long(value: bigint): this {
    this.#writer.int64(value)
    return this
  }

  bool(value: boolean): this {
    this.#writer.byte(value ? 1 : 0)
    return this
  }

  buffer(value: Uint8Array): this {
    this.#writer.int32(value.length)
    this.#writer.raw(value)
    return this
  }

  text(value: string): this {
    return this.buffer(Buffer.from(value))
  }

  /** The message with its length prefix. */
  frame(): Buffer {
    const bytes = this.#writer.finish()
    bytes.writeInt32BE(bytes.length - 4, 0)
    return bytes
  }
}

/** Reads a message of Jute. Fails after the end of the message. */
export class JuteReader extends ByteReader {
  constructor(bytes: Buffer) {
    super(bytes, 'a message of ZooKeeper')
  }

  bool(): boolean {
    return this.byte() !== 0
  }

  /** A view of the bytes. A length of -1 (null) is read as empty. */
  buffer(): Buffer {
    return this.raw(Math.max(0, this.int32()))
  }

  override text(): string {
    return this.buffer().toString()
  }
}

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

/** The greatest number of a request, which has 32 bits. */
const xidMax = 2 ** 31 - 1

/** The number of the request after another one. Negative numbers are not those of requests. */
export function nextXid(xid: number): number {
  return xid === xidMax ? 1 : xid + 1
}

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

/** An operation: part of a multi, or a single request. Its fields are written in this order. */
export interface ZkOperation {
  readonly op: 'create' | 'createContainer' | 'setData' | 'delete' | 'check'
  readonly path: string
  /** Bytes of the node, for creations and changes. */
  readonly data?: Uint8Array
  /** For creations; see {@link CreateFlag}. */
  readonly flags?: number
  /** The required version, for all but creations; -1 = any. */
  readonly version?: number
}

/** Outcome of an operation. */
export interface ZkOutcome {
  readonly error: number
  readonly path?: string
  readonly stat?: NodeStat
}

const allPermissions = 31

/** Writes the body of an operation. */
export function writeOperation(
  writer: JuteWriter,
  { path, data, flags, version }: ZkOperation,
): void {
  writer.text(path)
  if (data !== undefined) writer.buffer(data)
  if (flags !== undefined) {
    writer.int(1).int(allPermissions).text('world').text('anyone').int(flags)
  }
  if (version !== undefined) writer.int(version)
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
    const { op } = operation
    const code = op === 'create' ? OpCode.createInMulti : OpCode[op]
    writer.int(code).bool(false).int(-1)
    writeOperation(writer, operation)
  }
  writer.int(-1).bool(true).int(-1)
}

/** Reads the outcomes of a multi. */
export function readMulti(reader: JuteReader): ZkOutcome[] {
  const outcomes: ZkOutcome[] = []
  for (;;) {
    const code = reader.int32()
    const isEnd = reader.bool()
    reader.int32()
    if (isEnd) return outcomes
    if (code === OpCode.error) outcomes.push({ error: reader.int32() })
    else outcomes.push(readOutcome(reader, code))
  }
}

/** Reads a stat. */
export function readStat(reader: JuteReader): NodeStat {
  const czxid = Number(reader.int64())
  const mzxid = Number(reader.int64())
  const ctime = Number(reader.int64())
  const mtime = Number(reader.int64())
  const version = reader.int32()
  reader.int32()
  reader.int32()
  const owner = reader.int64()
  reader.int32()
  const children = reader.int32()
  reader.int64()
  return { czxid, mzxid, ctime, mtime, version, owner, children }
}
