/**
 * Loading: batches of puts through the asynchronous interface, with the progress remembered in the
 * database after each, see rounds.ts.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { BackendDatabase } from '../../src/entries/index.js'
import { pause } from './pause.js'
import type { Reporter } from './report.js'
import type { Rounds } from './rounds.js'
import { citiesTable, putOf, type Round } from './schema.js'
import type { City } from './source.js'

/** How a load is done. */
export interface LoadSettings {
  /** Cities per list of puts. */
  readonly batchCities: number
  /** Stops the load between two batches, with the signal's reason. */
  readonly signal: AbortSignal
}

/** Figures of one load. */
export interface LoadFigures {
  readonly cityCount: number
  readonly milliseconds: number
  /** How long the event loop was kept waiting. */
  readonly loopDelayMilliseconds: { readonly p99: number; readonly max: number }
}

/** Loads what is missing of `round`. */
export async function loadRound(
  database: BackendDatabase,
  rounds: Rounds,
  round: Round,
  cities: readonly City[],
  settings: LoadSettings,
  reporter: Pick<Reporter, 'progress'>,
): Promise<LoadFigures> {
  const table = database.table(citiesTable)
  const { signal, batchCities } = settings
  const firstIndex = round.loadedCount
  const what = `loading round ${round.number}`
  const progress = reporter.progress(what, 'cities', round.cityCount, firstIndex)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const start = performance.now()
  try {
    while (round.loadedCount < round.cityCount) {
      await pause(signal)
      const end = Math.min(round.loadedCount + batchCities, round.cityCount)
      const batch = cities.slice(round.loadedCount, end)
      await table.putList(batch.map((city) => putOf(city, round)))
      await rounds.advance(round, end)
      progress.update(end)
    }
  } finally {
    delay.disable()
    progress.stop()
  }
  return {
    cityCount: round.cityCount - firstIndex,
    milliseconds: performance.now() - start,
    loopDelayMilliseconds: { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 },
  }
}
