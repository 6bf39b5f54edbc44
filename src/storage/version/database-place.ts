/** The directory of a database, and the identity that its files carry. */

/** A directory, and the identity in its SSTables and value files. */
export interface DatabasePlace {
  readonly directory: string
  /** Identity of the database, 16 bytes. */
  readonly databaseId: Buffer
}
