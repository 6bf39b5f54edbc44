/**
 * Never two owners of a topic, in random histories of two and three hubs; and faults that were
 * planted into hubs are found by the same histories.
 *
 * CELLAR_SEED: the first seed. CELLAR_HUB_HISTORIES: histories of sound hubs, default 100.
 *
 * @runs campaign
 */
import { CellarError } from '../../../src/api/index.js'
import t from 'tap'
import type { HubInfoData } from '../../../src/systems/metastore/index.js'
import { withMembers } from '../../helpers/planted.js'
import { HubHistory, leaseMilliseconds, type HubParts } from './hub-history.js'
import { lengthOf } from '../../helpers/length.js'

const firstSeed = Number(process.env['CELLAR_SEED'] ?? 20_261_122)
const histories = lengthOf('CELLAR_HUB_HISTORIES', 20, 100)
/** Planted faults are found in at most so many histories; most are in the first few. */
const plantedHistories = 500
const plantedSeed = 20_261_940
/** The first seeds of faults that histories seldom show. */
const plantedSeeds: Readonly<Record<string, number>> = { 'writes are not fenced': 20_262_262 }

t.setTimeout(1_800_000)
const steps = 400

void t.test(`sound hubs [seeds from ${firstSeed}]`, async (t) => {
  let acquisitions = 0
  let writes = 0
  for (let i = 0; i < histories; i++) {
    const history = new HubHistory(firstSeed + i, 2 + (i % 2), () => ({}))
    const wrong = await history.run(steps)
    if (wrong !== undefined) t.fail(`seed ${firstSeed + i}: ${wrong}`)
    acquisitions += history.acquisitions
    writes += history.writes
  }
  t.comment(`${histories} histories, ${acquisitions} acquisitions, ${writes} fenced writes`)
  t.ok(acquisitions > 2 * histories, 'topics were acquired')
  t.ok(writes > histories, 'subscriptions were written')
})

/** The row of a hub, as text by field. */
async function rowOf({ store }: HubParts, hub: HubInfoData): Promise<Map<string, string>> {
  const table = await store.createTable('hubs')
  const { value } = await table.get(hub.hostname)
  return new Map([...value.getFieldsMap()].map(([name, data]) => [name, String(data)]))
}

function isOf(row: ReadonlyMap<string, string>, hub: HubInfoData): boolean {
  return row.get('hub')!.includes(`czxid: ${hub.czxid}\n`)
}

/** Whether a hub is dead by the row of its address, which is not changed. */
async function isDead(parts: HubParts, hub: HubInfoData, isLate: boolean): Promise<boolean> {
  const before = parts.timer.now()
  const row = await rowOf(parts, hub)
  if (!isOf(row, hub)) return parts.hubs.expel(hub)
  return Number(row.get('lease')) <= (isLate ? parts.timer.now() : before)
}

type Plant = (parts: HubParts) => Partial<HubParts>

const faults: Readonly<Record<string, Plant>> = {
  'the clock is read after the row': (parts) => ({
    hubs: withMembers(parts.hubs, {
      expel: (hub) => isDead(parts, hub, true),
    }),
  }),
  'the end of the lease is not noticed': ({ registration }) => ({
    registration: withMembers(registration, {
      isHeld: () => registration.leaseEnd > 0,
      onLost: () => undefined,
      unregister: () => Promise.resolve(),
    }),
  }),
  'renewals count however late, and nobody ends a lease for good': (parts) => {
    const { registration, timer } = parts
    let leaseEnd = timer.now() + leaseMilliseconds
    return {
      registration: withMembers(registration, {
        isHeld: () => timer.now() < leaseEnd,
        onLost: () => undefined,
        unregister: () => Promise.resolve(),
        renew: async () => {
          if (timer.now() >= leaseEnd) throw new CellarError('ERR_HEDWIG_SERVICE_DOWN', 'ended')
          const table = await parts.store.createTable('hubs')
          const { value, version } = await table.get(registration.hub.hostname)
          const renewed = timer.now() + leaseMilliseconds
          value.setField('lease', String(renewed))
          await table.put(registration.hub.hostname, value, version)
          leaseEnd = renewed
        },
      }),
      hubs: withMembers(parts.hubs, { expel: (hub) => isDead(parts, hub, false) }),
    }
  },
  'an earlier incarnation is taken for dead at once': (parts) => ({
    hubs: withMembers(parts.hubs, {
      expel: async (hub) => {
        const isNewest = isOf(await rowOf(parts, hub), hub)
        return !isNewest || parts.hubs.expel(hub)
      },
    }),
  }),
  'the record of the owner is overwritten whatever it says': ({ ownership }) => ({
    ownership: withMembers(ownership, {
      writeOwnerInfo: async (topic, owner, version) => {
        const stored = await ownership.readOwnerInfo(topic)
        return ownership.writeOwnerInfo(topic, owner, stored?.version ?? version)
      },
    }),
  }),
  'writes are not fenced': () => ({ isFenced: false }),
}

for (const [what, plant] of Object.entries(faults)) {
  void t.test(`planted: ${what}`, async (t) => {
    let found: string | undefined
    const first = plantedSeeds[what] ?? plantedSeed
    for (let i = 0; i < plantedHistories && found === undefined; i++) {
      const wrong = await new HubHistory(first + i, 2 + (i % 2), plant).run(steps)
      if (wrong !== undefined) found = `seed ${first + i}, ${wrong}`
    }
    t.ok(found, `found within ${plantedHistories} histories`)
    t.comment(found ?? 'not found')
  })
}
