/**
 * A live HBase with a Thrift2 gateway, from Maven's artifacts: master, one region server and
 * ZooKeeper in one process, data in a temporary folder. Needs a JDK from 17 on, Maven, bash, and
 * the artifacts of `bench/cluster/pom.xml` in Maven's local repository. With
 * CELLAR_HBASE=fetch Maven fetches the artifacts.
 *
 * The processes end with this one, however it ends: they watch their standard input.
 */
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

// The file runs from its source, or compiled.
const isSource = existsSync(join(import.meta.dirname, 'pom.xml'))
const projectRoot = join(import.meta.dirname, isSource ? '../..' : '../../..')
const home = join(projectRoot, 'bench/cluster')
const javaMin = 17
const startMilliseconds = 300_000
const pollMilliseconds = 100

/** What keeps a live HBase from being started here, or the class path with which it starts. */
export type HBaseInstallation = { readonly obstacle: string } | { readonly classPath: string }

/** Looks for Java, Maven and the artifacts. */
export function findHBase(): HBaseInstallation {
  if (javaVersion() < javaMin) return { obstacle: `no Java from version ${javaMin} on` }
  const pom = readFileSync(join(home, 'pom.xml'))
  const name = `hbase-${createHash('sha256').update(pom).digest('hex').slice(0, 16)}.classpath`
  const file = join(projectRoot, 'build', name)
  if (!existsSync(file)) {
    try {
      resolveClassPath(file)
    } catch {
      return { obstacle: 'no Maven with the artifacts of HBase; CELLAR_HBASE=fetch fetches them' }
    }
  }
  return { classPath: readFileSync(file, 'utf8').trim() }
}

function javaVersion(): number {
  try {
    const text = execFileSync('java', ['--version'], { encoding: 'utf8', stdio: 'pipe' })
    return Number(/\d+/.exec(text)?.[0] ?? 0)
  } catch {
    return 0
  }
}

function resolveClassPath(file: string): void {
  const own = `${file}.${process.pid}`
  const offline = process.env['CELLAR_HBASE'] === 'fetch' ? [] : ['-o']
  const goal = ['dependency:build-classpath', `-Dmdep.outputFile=${own}`]
  execFileSync('mvn', ['-B', '-q', ...offline, '-f', join(home, 'pom.xml'), ...goal], {
    stdio: 'pipe',
  })
  renameSync(own, file)
}

/** The flags with which HBase's own launcher opens Java's modules. */
const javaFlags = [
  '-XX:+UseSerialGC',
  '-Djava.net.preferIPv4Stack=true',
  '-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true',
  '--add-modules',
  'jdk.unsupported',
  ...[
    ...['java.lang', 'java.lang.reflect', 'java.io', 'java.net', 'java.nio', 'java.util'],
    ...['java.util.concurrent', 'sun.nio.ch', 'jdk.internal.ref'],
  ].flatMap((name) => ['--add-opens', `java.base/${name}=ALL-UNNAMED`]),
  ...['jdk.internal.misc', 'sun.net.dns', 'sun.net.util'].flatMap((name) => {
    return ['--add-exports', `java.base/${name}=ALL-UNNAMED`]
  }),
  ...['--add-exports', 'java.security.jgss/sun.security.krb5=ALL-UNNAMED'],
]

/** Runs a command until it ends or its standard input does. */
const watched =
  'exec 3<&0; "$@" </dev/null 3<&- & java=$!; (cat <&3 >/dev/null; kill -9 $java 2>/dev/null) & wait $java'

const logging = `status = warn
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %-5p [%t] %c{2}: %m%n
rootLogger.level = WARN
rootLogger.appenderRef.out.ref = out
logger.hbase.name = org.apache.hadoop.hbase
logger.hbase.level = INFO
`

/** HBase's site file: one address for everything, whatever the host's name resolves to. */
function siteFile(data: string, ports: Ports, more: Readonly<Record<string, string>>): string {
  const properties = {
    'hbase.cluster.distributed': 'false',
    'hbase.rootdir': `file://${data}/hbase`,
    'hbase.tmp.dir': `${data}/tmp`,
    'hbase.zookeeper.property.dataDir': `${data}/zookeeper`,
    'hbase.zookeeper.quorum': '127.0.0.1',
    'hbase.zookeeper.property.clientPort': `${ports.zookeeper}`,
    // The local file system cannot hflush: nothing is durable here.
    'hbase.unsafe.stream.capability.enforce': 'false',
    'hbase.wal.provider': 'filesystem',
    'hbase.localcluster.assign.random.ports': 'false',
    'hbase.master.port': `${ports.master}`,
    'hbase.master.ipc.address': '127.0.0.1',
    'hbase.master.hostname': 'localhost',
    'hbase.master.info.port': '-1',
    'hbase.regionserver.port': `${ports.region}`,
    'hbase.regionserver.ipc.address': '127.0.0.1',
    'hbase.unsafe.regionserver.hostname': 'localhost',
    'hbase.regionserver.info.port': '-1',
    'hbase.regionserver.thrift.ipaddress': '127.0.0.1',
    'hbase.regionserver.handler.count': '10',
    // A busy machine must not look like a dead server.
    'hbase.zookeeper.property.tickTime': '9000',
    'zookeeper.session.timeout': '180000',
    ...more,
  }
  const lines = Object.entries(properties).map(([name, value]) => {
    return `<property><name>${name}</name><value>${value}</value></property>`
  })
  return `<configuration>\n${lines.join('\n')}\n</configuration>\n`
}

interface Ports {
  readonly zookeeper: number
  readonly master: number
  readonly region: number
  readonly thrift2: number
}

/** A running HBase. */
export class LiveHBase {
  /** Port of the Thrift2 gateway on 127.0.0.1. */
  readonly port: number
  readonly #classPath: string
  readonly #folder: string
  readonly #hbase: ChildProcess
  #gateway: ChildProcess | undefined = undefined

  private constructor(classPath: string, folder: string, port: number, hbase: ChildProcess) {
    this.port = port
    this.#classPath = classPath
    this.#folder = folder
    this.#hbase = hbase
  }

  /** Starts HBase and its gateway: 20 s. `site` has more properties of the site file. */
  static async start(
    classPath: string,
    site: Readonly<Record<string, string>> = {},
  ): Promise<LiveHBase> {
    const folder = await mkdtemp(join(tmpdir(), 'cellar-hbase-'))
    const [zookeeper, master, region, thrift2] = await freePorts(4)
    const ports = { zookeeper, master, region, thrift2 }
    mkdirSync(join(folder, 'conf'))
    mkdirSync(join(folder, 'data'))
    writeFileSync(join(folder, 'conf/hbase-site.xml'), siteFile(join(folder, 'data'), ports, site))
    writeFileSync(join(folder, 'conf/log4j2.properties'), logging)
    const main = ['org.apache.hadoop.hbase.master.HMaster', 'start']
    const process = launch(classPath, folder, 'hbase', ['-Xmx768m'], main)
    const live = new LiveHBase(classPath, folder, thrift2, process)
    try {
      await live.#until(process, 'hbase', () => live.#log('hbase').includes(initialized))
      await live.#until(process, 'hbase', () => answers(region))
      await live.startGateway()
      return live
    } catch (error) {
      await live.stop()
      throw error
    }
  }

  /** Starts the gateway, on the same port as before. */
  async startGateway(): Promise<void> {
    const main = [
      'org.apache.hadoop.hbase.thrift2.ThriftServer',
      ...['start', '-b', '127.0.0.1', '-p', `${this.port}`, '--infoport', '-1', '-threadpool'],
    ]
    const gateway = launch(this.#classPath, this.#folder, 'thrift2', ['-Xmx192m'], main)
    this.#gateway = gateway
    await this.#until(gateway, 'thrift2', () => answers(this.port))
  }

  /** Kills the gateway. */
  async killGateway(): Promise<void> {
    await end(this.#gateway)
    this.#gateway = undefined
  }

  /** The folders of the regions of a table of the default namespace. */
  regionsOf(table: string): string[] {
    const folder = join(this.#folder, 'data/hbase/data/default', table)
    const names = readdirSync(folder).filter((name) => /^[0-9a-f]{32}$/.test(name))
    return names.map((name) => join(folder, name))
  }

  /** Runs a tool of HBase beside it, and returns what it printed. */
  async runTool(main: string, words: readonly string[]): Promise<string> {
    const path = `${join(this.#folder, 'conf')}:${this.#classPath}`
    const java = ['-Xmx192m', ...javaFlags, '-cp', path, main, ...words]
    const options = { cwd: this.#folder, maxBuffer: 256 * 1024 * 1024 }
    const { stdout, stderr } = await promisify(execFile)('java', java, options)
    return stdout + stderr
  }

  /** Kills everything and removes the data. */
  async stop(): Promise<void> {
    await this.killGateway()
    await end(this.#hbase)
    await rm(this.#folder, { recursive: true, force: true })
  }

  #log(name: string): string {
    return readFileSync(join(this.#folder, `${name}.log`), 'utf8')
  }

  async #until(
    process: ChildProcess,
    name: string,
    test: () => boolean | Promise<boolean>,
  ): Promise<void> {
    const end = performance.now() + startMilliseconds
    while (!(await test())) {
      if (process.exitCode !== null || performance.now() > end) {
        throw new Error(`${name} did not start:\n${this.#log(name).slice(-2000)}`)
      }
      await new Promise((resolve) => setTimeout(resolve, pollMilliseconds))
    }
  }
}

const initialized = 'Master has completed initialization'

function launch(
  classPath: string,
  folder: string,
  name: string,
  heap: readonly string[],
  main: readonly string[],
): ChildProcess {
  const log = openSync(join(folder, `${name}.log`), 'a')
  const temporary = `-Djava.io.tmpdir=${join(folder, 'data')}`
  const java = [...heap, ...javaFlags, temporary, '-cp', `${join(folder, 'conf')}:${classPath}`]
  return spawn('bash', ['-c', watched, 'bash', 'java', ...java, ...main], {
    cwd: folder,
    stdio: ['pipe', log, log],
  })
}

/** Ends a process by the end of its input, and waits for it. */
async function end(process: ChildProcess | undefined): Promise<void> {
  if (process === undefined || process.exitCode !== null) return
  const ended = new Promise((resolve) => process.once('exit', resolve))
  process.stdin?.destroy()
  await ended
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
