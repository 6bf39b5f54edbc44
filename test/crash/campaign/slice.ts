/**
 * A process that carries out rounds of one kind for a while: `node slice.js KIND SEED SECONDS
 * ROUNDS`. It tells each round to its parent, and ends with the first broken promise.
 */
import { Failure } from './campaigns.js'
import { openKind } from './kinds.js'

/** What a slice tells after each round. */
export interface Told {
  /** Seed of the next round. */
  readonly next: number
  /** What the slice did so far, by name. */
  readonly counts: Readonly<Record<string, number>>
  /** Where and how a promise was broken, in the round before. */
  readonly failure?: string
}

function textOf(error: unknown): string {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return error instanceof Failure ? `${error.origin}\n${message}` : message
}

async function carryOut([kind, first, seconds, rounds]: readonly string[]): Promise<void> {
  const campaign = openKind(kind)
  const end = performance.now() + Number(seconds) * 1000
  let seed = Number(first)
  let failure: string | undefined
  try {
    for (let round = 0; round < Number(rounds) && failure === undefined; round++, seed++) {
      if (round > 0 && performance.now() > end) break
      await campaign.round(seed).catch((error: unknown) => (failure = textOf(error)))
      process.send!({ next: seed + 1, counts: campaign.counts, failure } satisfies Told)
    }
  } finally {
    campaign.end()
  }
}

process.once('disconnect', () => process.exit(1))
await carryOut(process.argv.slice(2))
process.exit(0)
