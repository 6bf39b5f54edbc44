/** Where the files of a database lie, and what says that they are its own. */

/** A directory and the identity that its SSTables and value files carry. */
export interface DatabasePlace {
  readonly directory: string
  /** 16 bytes. */
  readonly databaseId: Buffer
}
