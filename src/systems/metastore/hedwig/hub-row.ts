/**
 * The row of a hub in the table `hubs`, keyed by its address.
 *
 * | field  | content                                                                   |
 * | ------ | ------------------------------------------------------------------------- |
 * | hub    | address and incarnation, text form                                        |
 * | load   | number of topics, text form                                               |
 * | lease  | end of the lease, milliseconds since the Unix epoch in decimal; 0 = ended |
 * | before | time when the leases of all earlier incarnations have ended, likewise     |
 */
import type { RecordTable } from '../bookkeeper/tables/record-table.js'
import type { MetaStore } from '../bookkeeper/types.js'
import { ALL_FIELDS, Value } from '../bookkeeper/value.js'
import type { Version, Versioned } from '../bookkeeper/tables/version.js'
import { HedwigErrorCode, unexpectedCondition } from '../errors.js'
import { formatHubInfo, formatHubLoad, isSameHub, parseHubInfo, parseHubLoad } from './hub-info.js'
import type { HubInfoData } from './records.js'
import { openRecords, type RecordKind } from './record-form.js'

const pageSize = 1000

const hubKind: RecordKind = {
  table: 'hubs',
  name: 'registration of the hub',
  absent: HedwigErrorCode.unexpectedCondition,
  exists: HedwigErrorCode.unexpectedCondition,
}

/** A decoded row. */
export interface HubEntry {
  readonly hub: HubInfoData
  readonly load: number
  /** Wall clock at which the lease ends; 0 if it was ended early. */
  readonly leaseEnd: number
  /** Wall clock at which the leases of all earlier incarnations have ended. */
  readonly earlierEnd: number
}

/**
 * Whether an incarnation may be alive. REQUIRES: `asOf` is a time before the row was read.
 * Otherwise a renewal between the read and `asOf` could be missed.
 */
export function mayBeAlive(entry: HubEntry, hub: HubInfoData, asOf: number): boolean {
  if (isSameHub(entry.hub, hub)) return entry.leaseEnd > asOf
  return hub.czxid < entry.hub.czxid && entry.earlierEnd > asOf
}

/** The rows of hubs. */
export class HubRows {
  readonly #records: RecordTable

  private constructor(records: RecordTable) {
    this.#records = records
  }

  /** Opens the table; `store` is initialised. */
  static async open(store: MetaStore): Promise<HubRows> {
    return new HubRows(await openRecords(store, hubKind))
  }

  /** Reads the row of an address; undefined if it is absent. */
  async read(hostname: string): Promise<Versioned<HubEntry> | undefined> {
    const row = await this.#records.read(hostname, ALL_FIELDS)
    return row === undefined ? undefined : { value: parseEntry(row.value), version: row.version }
  }

  /**
   * Writes a row if it has the given version, and returns the new version. `UNEXPECTED_CONDITION`
   * for an end of a lease that could not be read again.
   */
  async write({ hub, load, leaseEnd, earlierEnd }: HubEntry, version: Version): Promise<Version> {
    const value = new Value({
      hub: formatHubInfo(hub),
      load: formatHubLoad({ numTopics: BigInt(load) }),
      lease: String(leaseEnd),
      before: String(earlierEnd),
    })
    // One row that cannot be read would end the elections of all hubs.
    parseEntry(value)
    return this.#records.put(hub.hostname, value, version)
  }

  /** All rows. */
  async all(): Promise<HubEntry[]> {
    const entries: HubEntry[] = []
    for await (const page of this.#records.pages(pageSize, ALL_FIELDS)) {
      for (const { value } of page) entries.push(parseEntry(value.value))
    }
    return entries
  }

  /** Closes this handle of the table. */
  close(): void {
    this.#records.close()
  }
}

/** Decodes the fields of a row. `UNEXPECTED_CONDITION` for damaged fields. */
function parseEntry(value: Value): HubEntry {
  try {
    return {
      hub: parseHubInfo(textOf(value, 'hub')),
      load: Number(parseHubLoad(textOf(value, 'load')).numTopics),
      leaseEnd: milliseconds(textOf(value, 'lease')),
      earlierEnd: milliseconds(textOf(value, 'before')),
    }
  } catch (error) {
    throw unexpectedCondition('the registration of a hub cannot be read', error)
  }
}

function textOf(value: Value, field: string): string {
  return value.getField(field)?.toString() ?? ''
}

function milliseconds(text: string): number {
  if (/^[0-9]{1,16}(\.[0-9]+)?$/.test(text)) return Number(text)
  throw new RangeError(`${JSON.stringify(text)} is no time`)
}
