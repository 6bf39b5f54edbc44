/** Databases and hooks for the tests of coprocessors. */
import type {
  CellHookReference,
  Coprocessor,
  EmbeddedTable,
  OpenOptions,
} from '../../../../src/entries/index.js'
import { hasPool } from '../../../../src/storage/job/threads/worker-executor.js'

/** Address of a module beside this one. */
export function moduleNamed(name: string): string {
  return new URL(`./hooks/${name}.js`, import.meta.url).href
}

/** The scripted hook. */
export function scripted(
  script: string,
  options: Readonly<Record<string, unknown>> = {},
): CellHookReference {
  return { module: moduleNamed('scripted-hook'), options: { script, ...options } }
}

/** A coprocessor with nothing but the scripted hook. */
export function hookOf(name: string, script: string, priority?: number): Coprocessor {
  const cellHook = scripted(script)
  return priority === undefined ? { name, cellHook } : { name, cellHook, priority }
}

/** The executors that can run here. */
export function executors(): ('inline' | 'worker')[] {
  return hasPool() ? ['inline', 'worker'] : ['inline']
}

/** Nothing happens in the background. */
export const quiet: OpenOptions = { compactionEnabled: false, cellHookMillisecondsMax: 1000 }

/** Rows `r0` to `r<count - 1>` with the value `v<number>`. */
export async function putRows(table: EmbeddedTable, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await table.put({ row: `r${i}`, cells: { 'f:a': `v${i}` } })
}

/** Row and value of all cells that a scan shows. */
export function contents(table: EmbeddedTable): string[] {
  return [...table.scanSync()].map(
    (row) => `${row.row!.toString()}=${row.value('f:a')!.toString()}`,
  )
}
