/**
 * The planted faults of all rooms. A file beside this one that exports `faults` is a room; the name
 * of the file is the name of the room.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { PlantedFault } from './planted-fault.js'

/** A fault with the room that lists it. */
export interface RoomFault extends PlantedFault {
  readonly room: string
}

const shared = new Set(['main', 'planted-fault', 'plant', 'rooms'])

/** The faults of all rooms, or of one room. */
export async function faultsOf(room?: string): Promise<RoomFault[]> {
  const rooms = readdirSync(import.meta.dirname)
    .filter((file) => /^[\w-]+\.js$/.test(file))
    .map((file) => file.slice(0, -'.js'.length))
    .filter((name) => !shared.has(name) && (room === undefined || name === room))
  const faults: RoomFault[] = []
  for (const name of rooms.sort()) {
    const module = (await import(join(import.meta.dirname, `${name}.js`))) as {
      faults: readonly PlantedFault[]
    }
    faults.push(...module.faults.map((fault) => ({ ...fault, room: name })))
  }
  return faults
}
