/** Sizes and columns of stored rows (systems/messaging/FORMAT.md). On disk: never change. */

/** The single column family of the messaging tables. */
export const messagingFamily = 'd'
/** Column of the write pointer of a message: eight bytes, absent if not transactional. */
export const pointerQualifier = 't'
/** Column of a message's payload; absent if the payloads are in the payload table. */
export const payloadQualifier = 'p'
/** Column of a payload in the payload table. */
export const storedPayloadQualifier = 'c'
/** Column of several payloads in one row, in both tables. */
export const batchQualifier = 'b'
/** Column of the properties in the metadata table. */
export const metadataQualifier = 'm'

/** Bytes after the topic in a message row: generation(4) publishTimestamp(8) sequenceId(2). */
export const messageTailBytes = 4 + 8 + 2
/** Bytes after the topic in a payload row: the same, with writePointer(8) after generation. */
export const payloadTailBytes = 4 + 8 + 8 + 2
/** Bytes of one outcome in the row of a producer, and the offset of its last message's time. */
export const producerOutcomeBytes = 36
/** See {@link producerOutcomeBytes}. */
export const producerTimeOffset = 18
