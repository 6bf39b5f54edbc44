import t from 'tap'
import { BlockAddresses } from '../../../../src/storage/sstable/blocks/block-addresses.js'
import type { Block } from '../../../../src/storage/sstable/blocks/block.js'

function block(text: string): Block {
  return { buffer: Buffer.from(text), address: -1 } as unknown as Block
}

void t.test('an address finds the memory of its block, until the block leaves', async (t) => {
  const addresses = new BlockAddresses()
  const first = block('first')
  addresses.add(first)
  const { address } = first
  const generation = addresses.generationOf(address)
  t.equal(addresses.find(address, generation), first.buffer)
  addresses.add(first)
  t.equal(first.address, address, 'a block has one address')
  addresses.remove(first)
  t.equal(first.address, -1)
  t.equal(addresses.find(address, generation), undefined)
  const second = block('second')
  addresses.add(second)
  t.equal(second.address, address, 'addresses are used again')
  t.equal(addresses.find(address, generation), undefined, 'but not for the old block')
  t.equal(addresses.find(address, addresses.generationOf(address)), second.buffer)
})

void t.test('hits are counted up to three, and taken once', async (t) => {
  const addresses = new BlockAddresses()
  const blocks = Array.from({ length: 100 }, (_, i) => block(`${i}`))
  for (const each of blocks) addresses.add(each)
  const { address } = blocks[99]
  const generation = addresses.generationOf(address)
  for (let i = 0; i < 5; i++) t.equal(addresses.find(address, generation), blocks[99].buffer)
  t.equal(addresses.takeHits(blocks[99]), 3)
  t.equal(addresses.takeHits(blocks[99]), 0)
  t.equal(addresses.takeHits(block('without an address')), 0)
  t.equal(addresses.generationOf(address), generation)
})
