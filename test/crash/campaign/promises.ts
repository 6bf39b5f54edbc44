/** What Cellar promises, the kinds of the campaign that check it, and how often they have. */
import { faultsOf } from '../../planted/rooms.js'
import { countsOf, type RunRecord } from './record.js'

/** A promise and its checks. */
export interface Promised {
  readonly promise: string
  /** Kinds of the campaign. */
  readonly kinds: readonly string[]
}

/** All of them. */
export const promises: readonly Promised[] = [
  {
    promise: 'An acknowledged mutation survives the end of the process, or of the machine',
    kinds: ['power-cut', 'kill', 'log', 'threads', 'ticks'],
  },
  {
    promise: 'What remains after a crash is a beginning of what was written, without holes',
    kinds: ['power-cut', 'compactions', 'kill'],
  },
  {
    promise: 'Concurrent calls on rows happen one after the other, over crashes too',
    kinds: ['histories', 'histories-http', 'buffers', 'metastore'],
  },
  {
    promise: 'A batch, a row and a snapshot are seen whole or not at all',
    kinds: ['histories', 'views', 'background'],
  },
  {
    promise: 'Reads follow the rules of HBase, which a second implementation states',
    kinds: ['model', 'options'],
  },
  { promise: 'Options change how fast an answer is, and not the answer', kinds: ['options'] },
  {
    promise: 'A failing call of the file system is told, and loses nothing acknowledged',
    kinds: ['faults', 'histories'],
  },
  {
    promise: 'Damage is reported, never returned as data and never as "not found"',
    kinds: ['damage', 'blocks', 'salvage'],
  },
  {
    promise: 'One directory has one writer, in whatever runtime and under whatever path',
    kinds: ['runtimes', 'moved', 'owned'],
  },
  { promise: 'Budgets of memory hold', kinds: ['memory'] },
  {
    promise: 'Backups, snapshots, imports and bulk loads are whole or absent',
    kinds: ['backup', 'snapshots', 'import', 'bulk-load'],
  },
  { promise: 'The change feed shows each durable mutation once, in order', kinds: ['feed'] },
  {
    promise: 'Index entries and their rows agree, and builds go on after a kill',
    kinds: ['indexes', 'index-builds', 'repository-builds'],
  },
  { promise: 'A projection applies each change once', kinds: ['projections'] },
  { promise: 'A table that moves has the same cells in the end', kinds: ['move'] },
  { promise: 'Transactions have snapshot isolation', kinds: ['transactions'] },
  { promise: 'A published message is there once', kinds: ['messaging', 'messaging-cache'] },
  {
    promise: 'Metadata: versions, sessions, locks and clusters keep their rules',
    kinds: [
      'metastore',
      'metastore-kill',
      'metadata-groups',
      'metadata-clusters',
      'metadata-locks',
      'metadata-sessions',
    ],
  },
  {
    promise: 'Records, their links, unique values and events agree',
    kinds: ['repository', 'repository-histories', 'repository-events'],
  },
]

const grouped = (count: number): string => Math.round(count).toLocaleString('en-US')

/** The table of promises, for docs/reliability.md. */
export function promisesOf(runs: readonly RunRecord[]): string {
  const totals = countsOf(runs)
  const rows = promises.map(({ promise, kinds }) => {
    const counts = kinds.map((kind) => {
      const { rounds = 0, ...rest } = totals.get(kind)?.counts ?? {}
      // What a kind counts first says best what it did.
      const first = Object.entries(rest).find(([, count]) => count > 0)
      const done = first === undefined ? '' : `, ${grouped(first[1])} ${first[0]}`
      return `${kind}: ${grouped(rounds)} ${rounds === 1 ? 'round' : 'rounds'}${done}`
    })
    return `| ${promise} | ${counts.join('; ')} |`
  })
  return ['| promise | checked by these kinds, so often |', '|---|---|', ...rows].join('\n')
}

/** The table of planted faults that one round of a kind finds, for docs/reliability.md. */
export async function plantedTable(): Promise<string> {
  const faults = await faultsOf()
  const found = faults.filter(({ foundBy }) => foundBy !== undefined)
  const kinds = [...new Set(found.map(({ foundBy }) => foundBy!))].sort()
  const rows = kinds.map((kind) => {
    const names = found.filter(({ foundBy }) => foundBy === kind).map(({ name }) => name)
    return `| ${kind} | ${names.length} | ${names[0]} |`
  })
  return [
    `One round of one kind finds ${found.length} of the ${faults.length} planted faults:`,
    '',
    '| kind | faults | one of them |',
    '|---|---|---|',
    ...rows,
  ].join('\n')
}

/** The page with its tables as they should be. A table stands between two comments. */
export async function reliabilityPage(page: string, runs: readonly RunRecord[]): Promise<string> {
  const tables = { promises: promisesOf(runs), planted: await plantedTable() }
  let text = page
  for (const [name, table] of Object.entries(tables)) {
    const place = new RegExp(`(<!-- ${name} -->\n\n)[^]*?(\n\n<!-- end of ${name} -->)`)
    text = text.replace(place, (_, before: string, after: string) => `${before}${table}${after}`)
  }
  return text
}
