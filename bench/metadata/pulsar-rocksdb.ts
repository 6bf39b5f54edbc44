/**
 * Pulsar's own RocksDB store, from Maven, in a Java program of its own: the figures that a model of
 * its layout cannot give.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Measurement } from '../harness/processes/subject-process.js'
import type { Sizes } from './workloads.js'

/** The folder of the program, in the sources: it is not compiled with the project. */
const folder = resolve(import.meta.dirname, '../../../bench/metadata/java')
const libraries = join(folder, 'target', 'lib')

/** Why the store cannot be measured here; undefined if it can. Fetches it from Maven once. */
export function pulsarMissing(note: (text: string) => void): string | undefined {
  for (const command of ['java', 'mvn']) {
    if (spawnSync(command, ['-version'], { stdio: 'ignore' }).status !== 0) {
      return `${command} is not installed`
    }
  }
  if (existsSync(join(libraries, 'complete'))) return undefined
  note('fetching org.apache.pulsar:pulsar-metadata from Maven, once')
  const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies'
  const settings = ['-q', '-B', goal, '-DincludeScope=runtime', `-DoutputDirectory=${libraries}`]
  const { status } = spawnSync('mvn', settings, { cwd: folder, stdio: 'ignore', timeout: 600_000 })
  if (status !== 0) {
    rmSync(libraries, { recursive: true, force: true })
    return `Maven cannot provide org.apache.pulsar:pulsar-metadata (exit ${status})`
  }
  mkdirSync(join(libraries, 'complete'))
  return undefined
}

/** Runs the program; it prints a line of JSON for each workload. */
export async function measurePulsar(directory: string, sizes: Sizes): Promise<Measurement[]> {
  mkdirSync(dirname(directory), { recursive: true })
  const counts = [sizes.topics, sizes.single, sizes.outstanding, sizes.listings]
  const program = join(folder, 'RocksdbBench.java')
  const words = ['-cp', join(libraries, '*'), program, directory, ...counts.map(String)]
  const child = spawn('java', words, { stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  let complaints = ''
  child.stdout.on('data', (data: Buffer) => (printed += data.toString()))
  child.stderr.on('data', (data: Buffer) => (complaints += data.toString()))
  const code = await new Promise<number | null>((done, fail) => {
    child.on('error', fail)
    child.on('close', done)
  })
  if (code !== 0) throw new Error(`the Java program ended with ${code}: ${complaints.slice(-500)}`)
  return printed
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Measurement)
}
