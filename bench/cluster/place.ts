/** Owned databases on a live HBase, by an address `hbase://host:port/name`. */
import { connectHBase, ownDatabase, type OwnedDatabase } from '../../src/entries/hbase.js'

/** Short, because the demonstration kills owners and waits for the next one. */
const times = { heartbeatMilliseconds: 250, takeoverMilliseconds: 1_500 }

/** An open owned database. */
export interface OwnedPlace {
  readonly database: OwnedDatabase
  /** Gives up the ownership, and closes the connection. */
  readonly close: () => Promise<void>
}

/** Whether a place is an address, and no directory. */
export function isAddress(place: string): boolean {
  return place.startsWith('hbase://')
}

/** Connects, and becomes the owner when the one before has gone. */
export async function openOwned(address: string): Promise<OwnedPlace> {
  const { hostname, port, pathname } = new URL(address)
  const hbase = await connectHBase({ host: hostname, port: Number(port) })
  const database = await ownDatabase(hbase, { name: pathname.slice(1), ...times })
  const close = async (): Promise<void> => {
    await database.close()
    await hbase.close()
  }
  return { database, close }
}
