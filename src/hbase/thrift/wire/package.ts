/** The parts of Apache's package `thrift` that the client uses, loaded at the first connection. */
import { requirePackage } from '../../../api/index.js'

/** Reads and writes the elements of a message. */
export interface Protocol {
  writeMessageBegin(name: string, type: number, sequence: number): void
  writeMessageEnd(): void
  writeFieldBegin(name: string, type: number, id: number): void
  writeFieldStop(): void
  writeMapBegin(keyType: number, valueType: number, size: number): void
  writeListBegin(type: number, size: number): void
  writeBool(value: boolean): void
  writeByte(value: number): void
  writeI16(value: number): void
  writeI32(value: number): void
  writeI64(value: { readonly buffer: Buffer }): void
  writeBinary(value: Uint8Array): void
  flush(): void
  readMessageBegin(): { readonly fname: unknown; readonly mtype: number; readonly rseqid: number }
  readFieldBegin(): { readonly ftype: number; readonly fid: number }
  readMapBegin(): { readonly ktype: number; readonly vtype: number; readonly size: number }
  readListBegin(): { readonly etype: number; readonly size: number }
  readBool(): boolean
  readByte(): number
  readI16(): number
  readI32(): number
  readI64(): { readonly buffer: Buffer; readonly offset: number }
  readBinary(): Buffer
  skip(type: number): void
}

/** The package. */
export interface ThriftPackage {
  /** A message in memory. Reads a given Buffer; passes written bytes to the callback. */
  readonly TFramedTransport: new (bytes?: Buffer, onFlush?: (frame: Buffer) => void) => object
  readonly TBinaryProtocol: new (transport: object, strictRead: boolean) => Protocol
}

/** Loads the package. Throws `ERR_MISSING_PACKAGE`. */
export function loadThrift(): ThriftPackage {
  return requirePackage<ThriftPackage>('thrift', 'connectHBase')
}
