/**
 * Measures kinds of calls in turns, in another order each round, by processor time: a busy machine
 * disturbs the ratios of such figures less than rates.
 */
import { seededRandom } from '../../src/base/random.js'

/** A kind of calls; `run` makes the calls of one round and returns their number. */
export interface Kind {
  readonly name: string
  readonly run: (round: number) => number | Promise<number>
}

/** Median and least processor time of a call, in microseconds. */
export interface Times {
  readonly median: number
  readonly least: number
}

/** Runs all kinds in each round. REQUIRES different names. */
export async function inTurns(
  kinds: readonly Kind[],
  rounds: number,
): Promise<ReadonlyMap<string, Times>> {
  const random = seededRandom(rounds)
  const samples = new Map<string, number[]>(kinds.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    const order = kinds.map((kind) => ({ kind, place: random() }))
    for (const { kind } of order.sort((a, b) => a.place - b.place)) {
      const begun = process.cpuUsage()
      const calls = await kind.run(round)
      const { user, system } = process.cpuUsage(begun)
      samples.get(kind.name)!.push((user + system) / calls)
    }
  }
  return new Map(
    [...samples].map(([name, list]) => {
      list.sort((a, b) => a - b)
      return [name, { median: list[Math.floor(list.length / 2)], least: list[0] }]
    }),
  )
}
