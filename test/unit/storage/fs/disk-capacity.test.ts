/** A memory file system with a capacity: pages, holes and full disks. */
import t from 'tap'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'

void t.test('a write beyond the capacity fills what is left and fails', async (t) => {
  const fileSystem = new SimulatedDisk()
  const file = fileSystem.openSync('/a', 'create')
  fileSystem.capacityBytes = 8192
  const bytes = Buffer.alloc(10000, 1)
  t.throws(() => file.writeSync(bytes, 0, 10000, 100), { code: 'ERR_NO_SPACE' })
  t.equal(file.sizeSync(), 8192)
  t.equal(fileSystem.allocatedBytes, 8192)
  file.writeSync(bytes, 0, 100, 0)
  const other = fileSystem.openSync('/b', 'create')
  other.truncateSync(100_000)
  t.equal(fileSystem.allocatedBytes, 8192, 'a hole takes nothing')
  t.throws(() => other.writeSync(bytes, 0, 1, 50_000), { code: 'ERR_NO_SPACE' })
  file.truncateSync(4096)
  t.equal(fileSystem.allocatedBytes, 4096)
  other.writeSync(bytes, 0, 1, 50_000)
  fileSystem.linkSync('/b', '/c')
  t.equal(fileSystem.allocatedBytes, 8192, 'a second name takes nothing')
  fileSystem.unlinkSync('/b')
  t.equal(fileSystem.allocatedBytes, 8192)
  fileSystem.unlinkSync('/c')
  t.equal(fileSystem.allocatedBytes, 4096)
  t.equal(fileSystem.kill().allocatedBytes, 4096)
})
