/**
 * Metadata of ledgers in BookKeeper's version 2 form: the line `BookieMetadataFormatVersion<TAB>2`
 * and the text form of `LedgerMetadataFormat`. The ledger manager accepts other forms as a {@link
 * LedgerMetadataCodec}.
 */
import { checkObject, readArguments } from '../../../../api/index.js'
import {
  enumType,
  invalidRecord,
  toBuffer,
  messageType,
  optional,
  repeated,
  required,
  type WithUnknownFields,
} from '../../records/message-type.js'
import { toText } from '../../records/text-form.js'
import { fromText } from '../../records/text-reader.js'

/** The stored form of the metadata of a ledger. */
export interface LedgerMetadataCodec<M> {
  /** The bytes to store. Throws if the metadata are not valid. */
  encode(metadata: M): Uint8Array
  /** Decodes stored bytes. Throws if they are not valid. */
  decode(bytes: Uint8Array): M
  /** Identifies the creator of a ledger, so that a repeated creation is recognised. */
  creatorToken?(metadata: M): bigint | undefined
}

/** The location of the entries of a ledger from `firstEntryId` on. */
export interface LedgerSegment extends WithUnknownFields {
  /** Addresses of the bookies. */
  readonly ensembleMember?: readonly string[]
  /** The first entry of the segment, inclusive; the segment ends where the next one begins. */
  readonly firstEntryId: bigint
}

/** A free-form entry. */
export interface LedgerCustomMetadata extends WithUnknownFields {
  /** Name, chosen by the creator of the ledger. */
  readonly key?: string
  /** Opaque bytes. */
  readonly value?: Uint8Array
}

/** The metadata of a ledger (BookKeeper: `LedgerMetadataFormat`). */
export interface LedgerMetadata extends WithUnknownFields {
  /** Number of bookies that store each entry. */
  readonly quorumSize: number
  /** Number of bookies that share the entries of a segment, at least `quorumSize`. */
  readonly ensembleSize: number
  /** Bytes of all entries. */
  readonly length: bigint
  /** The last entry of a closed ledger, -1 for an empty one; absent while the ledger is open. */
  readonly lastEntryId?: bigint
  /**
   * `OPEN` while a writer appends, `IN_RECOVERY` while a reader determines the last entry, then
   * `CLOSED`.
   */
  readonly state: 'OPEN' | 'IN_RECOVERY' | 'CLOSED'
  /** The locations of the entries, ascending by `firstEntryId`. */
  readonly segment?: readonly LedgerSegment[]
  /** The checksum of the entries. */
  readonly digestType?: 'CRC32' | 'HMAC' | 'CRC32C' | 'DUMMY'
  /** The key of the digest; readers have to know the password. */
  readonly password?: Uint8Array
  /**
   * Number of bookies that have to acknowledge an entry. Absent in old records: `quorumSize`
   * applies.
   */
  readonly ackQuorumSize?: number
  /** Milliseconds since the Unix epoch. */
  readonly ctime?: bigint
  /** Free-form entries of the creator of the ledger. */
  readonly customMetadata?: readonly LedgerCustomMetadata[]
  /** Random number of the creator. */
  readonly cToken?: bigint
}

/** Message type of {@link LedgerMetadata}. */
export const ledgerMetadataType = messageType<LedgerMetadata>('LedgerMetadataFormat', [
  required(1, 'quorumSize', 'int32'),
  required(2, 'ensembleSize', 'int32'),
  required(3, 'length', 'int64'),
  optional(4, 'lastEntryId', 'int64'),
  required(5, 'state', enumType({ OPEN: 1, IN_RECOVERY: 2, CLOSED: 3 })),
  repeated(
    6,
    'segment',
    messageType<LedgerSegment>('Segment', [
      repeated(1, 'ensembleMember', 'string'),
      required(2, 'firstEntryId', 'int64'),
    ]),
  ),
  optional(7, 'digestType', enumType({ CRC32: 1, HMAC: 2, CRC32C: 3, DUMMY: 4 })),
  optional(8, 'password', 'bytes'),
  optional(9, 'ackQuorumSize', 'int32'),
  optional(10, 'ctime', 'int64'),
  repeated(
    11,
    'customMetadata',
    messageType<LedgerCustomMetadata>('cMetadataMapEntry', [
      optional(1, 'key', 'string'),
      optional(2, 'value', 'bytes'),
    ]),
  ),
  optional(12, 'cToken', 'int64'),
])

const header = 'BookieMetadataFormatVersion\t2\n'

/** The codec of the version 2 form, written by BookKeeper 4.3. */
export const ledgerMetadataCodec: LedgerMetadataCodec<LedgerMetadata> = {
  encode: (metadata) => Buffer.from(header + toText(ledgerMetadataType, metadata)),
  decode: (bytes) => {
    const stored = toBuffer(bytes)
    if (stored.toString('latin1', 0, header.length) !== header) {
      throw invalidRecord('ledger metadata do not begin with the line of format version 2')
    }
    return fromText(ledgerMetadataType, stored.subarray(header.length))
  },
  creatorToken: (metadata) => readArguments(() => checkObject(metadata, 'ledger metadata').cToken),
}
