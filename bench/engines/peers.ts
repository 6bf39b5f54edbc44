/**
 * The packages of the peers: a package of its own in `bench/peers`, so that `npm ci` in the project
 * compiles nothing.
 *
 * All are optional dependencies there: one that cannot be installed on this machine is left out by
 * npm, and loading it fails with a message that names it.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'

/** The folder of the package, in the sources: it is not compiled. */
export const peersFolder = resolve(import.meta.dirname, '../../../bench/peers')

/**
 * LevelDB's write buffer. With its default of 4 MiB LevelDB would be slower. With 128 MiB, Cellar's
 * on a machine with 8 GiB or more, its loads of YCSB are up to a quarter faster, and its gets take
 * up to twice as long.
 */
export const writeBufferBytes = 32 * 1024 * 1024

const requirePeer = createRequire(join(peersFolder, 'package.json'))

/** Loads a peer; throws with a short reason if it is not there. */
export function loadPeer<T>(name: string): T {
  try {
    return requirePeer(name) as T
  } catch (error) {
    throw new Error(`not installed (${String((error as Error).message).split('\n')[0]})`)
  }
}

/** Version of an installed peer; throws if it cannot be loaded. */
export function peerVersion(name: string): string {
  loadPeer(name)
  const path = join(peersFolder, 'node_modules', name, 'package.json')
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}

/** Names what was installed for what, inside of what was installed. */
const stampPath = (folder: string): string => join(folder, 'node_modules', '.installed-lock')

/** The lock file, and the interface of this Node that addons are built for. */
function stampOf(folder: string): string {
  const lock = readFileSync(join(folder, 'package-lock.json'))
  return `${createHash('sha256').update(lock).digest('hex')} ${process.versions.modules}`
}

/** Whether what is installed is what the lock file says, for this Node. */
export function arePeersInstalled(folder: string = peersFolder): boolean {
  const path = stampPath(folder)
  return existsSync(path) && readFileSync(path, 'utf8') === stampOf(folder)
}

/**
 * Installs the peers. Resolves to undefined, or to the reason why npm failed: then what is there is
 * used, and the others are left out.
 */
export function installPeers(folder: string = peersFolder): Promise<string | undefined> {
  return new Promise((done) => {
    const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      shell: process.platform === 'win32',
    })
    let errors = ''
    npm.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
    npm.on('error', (error) => done(error.message))
    npm.on('close', (code) => {
      if (code === 0) writeFileSync(stampPath(folder), stampOf(folder))
      done(code === 0 ? undefined : `npm ci ended with ${code}: ${errors.trim().slice(0, 500)}`)
    })
  })
}

/** Installs the peers unless they are there; `note` is told of it, and of a failure. */
export async function preparePeers(note: (text: string) => void): Promise<void> {
  if (arePeersInstalled()) return
  note('installing the peers in bench/peers, once; this can take some minutes')
  const problem = await installPeers()
  if (problem !== undefined) note(`the peers could not be installed: ${problem}`)
}
