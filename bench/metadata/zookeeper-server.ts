/**
 * A real ZooKeeper server on this machine: Debian's package `zookeeper`, or the Java class path in
 * the environment variable CELLAR_ZOOKEEPER.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const jar = '/usr/share/java/zookeeper.jar'
const classPath = process.env['CELLAR_ZOOKEEPER'] ?? jar
const java = '/usr/bin/java'

/** Why no server can be started; undefined if one can. */
export function zookeeperMissing(): string | undefined {
  if (classPath === jar && !existsSync(jar)) return `ZooKeeper is not installed: no ${jar}`
  if (!existsSync(java)) return `Java is not installed: no ${java}`
  return undefined
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.on('error', () => resolve(false))
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}

/** Settings of a server. */
export interface ZooKeeperSettings {
  /** Where the folder of its data is made. Default: the system's directory. */
  readonly parent?: string
  /** Memory of the server. Default 512. */
  readonly heapMebibytes?: number
}

/** One server with data of its own. */
export class ZooKeeperServer {
  readonly port: number
  readonly #directory: string
  readonly #heapMebibytes: number
  #process: ChildProcess | undefined

  private constructor(port: number, settings: ZooKeeperSettings) {
    this.port = port
    this.#heapMebibytes = settings.heapMebibytes ?? 512
    this.#directory = mkdtempSync(join(settings.parent ?? tmpdir(), 'cellar-zookeeper-'))
  }

  static async start(settings: ZooKeeperSettings = {}): Promise<ZooKeeperServer> {
    const server = new ZooKeeperServer(await freePort(), settings)
    await server.run()
    return server
  }

  /** Starts the server, on the data of before. */
  async run(): Promise<void> {
    const main = 'org.apache.zookeeper.server.ZooKeeperServerMain'
    const settings = ['-Dzookeeper.admin.enableServer=false', `-Xmx${this.#heapMebibytes}m`]
    const args = [...settings, '-cp', classPath, main, String(this.port), this.#directory, '500']
    const child = spawn(java, args, { stdio: 'ignore' })
    this.#process = child
    // A caller that fails must neither wait for the server nor leave it behind.
    child.unref()
    const kill = (): void => void child.kill('SIGKILL')
    process.once('exit', kill)
    child.once('exit', () => process.off('exit', kill))
    for (let i = 0; i < 600; i++) {
      if (await answers(this.port)) return
      if (this.#process.exitCode !== null) throw new Error('the server has ended')
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    throw new Error('the server does not answer')
  }

  /** Kills the server; its data stay. */
  async stop(): Promise<void> {
    const child = this.#process
    if (child === undefined) return
    this.#process = undefined
    child.ref()
    const ended = new Promise((resolve) => child.on('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }

  async remove(): Promise<void> {
    await this.stop()
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
