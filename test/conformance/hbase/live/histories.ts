/**
 * Random histories of the same operations on the embedded engine and on a live HBase, whose answers
 * must be equal. All cells have timestamps but those of counters and appends, whose timestamps are
 * not compared.
 */
import type { Test } from 'tap'
import type {
  Check,
  Delete,
  Get,
  Mutation,
  Put,
  Result,
  Scan,
  Table,
} from '../../../../src/api/index.js'
import { seededRandom, type Random } from '../../../../src/base/random.js'
import type { HBaseDatabase } from '../../../../src/entries/hbase.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { lengthOf } from '../../../helpers/length.js'
import { codeOf } from '../../../suites/kit.js'

const seeds = [1, 2, 3]
const operations = lengthOf('CELLAR_HBASE_OPERATIONS', 150, 3000)
const families = { f: { versions: 3 }, g: { versions: 1 } }
const timestampMax = 30

/** Draws operations. */
class Draw {
  readonly #random: Random

  constructor(seed: number) {
    this.#random = seededRandom(seed)
  }

  below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]
  }

  get row(): string {
    return this.of(['a', 'b', 'b\0', 'b\0\0', 'ba', 'c', 'd'])
  }

  get column(): string {
    return this.of(['f:', 'f:p', 'f:q', 'g:', 'g:p'])
  }

  get timestamp(): number {
    return 1 + this.below(timestampMax)
  }

  get put(): Omit<Put, 'row'> {
    const cells = Array.from({ length: 1 + this.below(3) }, () => {
      return { column: this.column, value: `v${this.below(1000)}` }
    })
    return { cells, timestamp: this.timestamp }
  }

  get delete(): Omit<Delete, 'row'> {
    const { column, timestamp, timestamp: earlier } = this
    return this.of<Omit<Delete, 'row'>>([
      { timestamp },
      { families: [this.of(['f', 'g'])], timestamp },
      { familyVersions: [{ family: this.of(['f', 'g']), timestamp }] },
      { columns: [column], timestamp },
      { columnVersions: [{ family: column[0], qualifier: column.slice(2), timestamp }] },
      { columns: [column], families: [this.of(['f', 'g'])], timestamp },
      {
        families: [
          { family: 'f', timestamp },
          { family: 'f', timestamp: earlier },
        ],
      },
    ])
  }

  get mutation(): Mutation {
    return this.below(2) === 0 ? { put: this.put } : { delete: this.delete }
  }

  get check(): Check {
    const [row, column, value] = [this.row, this.column, `v${this.below(1000)}`]
    const operators = ['LESS', 'GREATER_OR_EQUAL', 'NOT_EQUAL', 'EQUAL'] as const
    return this.of<Check>([
      { row, column, notExists: true },
      { row, column, operator: this.of(operators), value },
    ])
  }

  get get(): Get {
    const from = this.below(timestampMax)
    return {
      row: this.row,
      versions: this.of([1, 2, 'all'] as const),
      columns: this.of([undefined, ['f'], [this.column], [this.column, 'g']]),
      timeRange: this.of([undefined, undefined, [from, from + 10] as const]),
    }
  }

  get scan(): Scan {
    const { versions, columns, timeRange } = this.get
    const flag = (): boolean => this.below(2) === 0
    return {
      versions,
      columns,
      timeRange,
      reversed: this.below(3) === 0,
      startRow: this.of([undefined, this.row]),
      stopRow: this.of([undefined, this.row]),
      startInclusive: flag(),
      stopInclusive: flag(),
      limit: this.of([undefined, 1 + this.below(4)]),
      batch: this.of([undefined, undefined, 1 + this.below(3)]),
    }
  }
}

/** An operation in words, and its answer as text. */
interface Step {
  readonly name: string
  readonly given: unknown
  run(table: Table): Promise<unknown>
}

function step(draw: Draw): Step {
  const { row, put, delete: deletion, mutation, check, get, scan } = draw
  const made = (name: string, given: unknown, run: Step['run']): Step => ({ name, given, run })
  return draw.of<() => Step>([
    () => made('put', { row, ...put }, (table) => table.put({ row, ...put })),
    () => made('put', { row, ...put }, (table) => table.put({ row, ...put })),
    () => made('delete', { row, ...deletion }, (table) => table.delete({ row, ...deletion })),
    () => {
      const mutations = [mutation, draw.mutation]
      return made('mutateRow', { row, mutations }, async (table) => {
        return (await table.mutateRow({ row, mutations })).exists
      })
    },
    () => {
      return made('check', { check, mutation }, async (table) => {
        return (await table.checkAndMutate(check, mutation)).success
      })
    },
    () => {
      const puts = ['a', 'c', 'e'].map((each) => ({ row: each, ...put }))
      return made('putList', puts, (table) => table.putList(puts))
    },
    () => made('increment', row, (table) => table.incrementColumnValue(row, 'f:counter', 3)),
    () => {
      const append = { row, columns: { 'f:append': 'x' } }
      return made('append', row, async (table) => textOf(await table.append(append)))
    },
    () => made('get', get, async (table) => textOf(await table.get(get))),
    () => made('exists', get, (table) => table.exists(get)),
    () => {
      const gets = [get, draw.get]
      return made('getList', gets, async (table) => (await table.getList(gets)).map(textOf))
    },
    () => made('scan', scan, async (table) => (await table.scan(scan).toArray()).map(textOf)),
  ])()
}

/** The cells of a result as text; timestamps that servers assign are left out. */
function textOf(result: Result): string {
  const cells = result.cells().map(({ row, family, qualifier, timestamp, value }) => {
    const at = timestamp > timestampMax ? '' : `@${timestamp}`
    return `${row.toString('hex')}/${family}:${qualifier.toString()}${at}=${value.toString('hex')}`
  })
  return `${cells.join(' ')}${result.partial ? ' …' : ''}`
}

/** Runs the histories on tables of their own. */
export async function testHistories(t: Test, live: HBaseDatabase): Promise<void> {
  const embedded = await openMemoryDatabase()
  t.teardown(() => embedded.close())
  for (const seed of seeds) {
    const draw = new Draw(seed)
    const name = `history${seed}`
    const [ours, theirs] = [
      await embedded.createTable(name, { families }),
      await live.createTable(name, { families }),
    ]
    const differences: string[] = []
    for (let i = 0; i < operations && differences.length === 0; i++) {
      const { name: kind, given, ...made } = step(draw)
      const answers: string[] = []
      for (const table of [ours, theirs]) {
        const answer = await made.run(table).catch(codeOf)
        answers.push(String(answer))
      }
      if (answers[0] === answers[1]) continue
      const told = `${kind} ${JSON.stringify(given)}`
      differences.push(`${i}: ${told}: embedded ${answers[0]}, HBase ${answers[1]}`)
    }
    t.strictSame(differences, [], `seed ${seed}: ${operations} operations with equal answers`)
  }
}
