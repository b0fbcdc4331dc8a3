import type { ScriptedStep } from '../../../models/scripted/scripted-model.ts';

/** A question and the scripted model steps that answer it. */
export type Exchange = readonly [question: string, ...answer: readonly ScriptedStep[]];

export const TRIP: readonly Exchange[] = [
  [
    'We want to spend four days in Lisbon in October, two adults and a six-year-old. Where should we stay?',
    'Alfama is pretty but steep with a child. I suggest Campo de Ourique: flat, quiet, playgrounds, and tram 28 starts there. Expect about 140 euros a night for a family room.',
  ],
  [
    'What do we do when it rains?',
    'The Oceanário is the best rainy day with a child: plan three hours and book the 10:00 slot. The Pavilhão do Conhecimento next door fills the afternoon.',
  ],
];

/** Asked, answered and then undone, so that the plan without a car remains. */
export const CAR: Exchange = [
  'Should we rent a car for all four days?',
  'Yes: a compact car costs about 45 euros a day, and parking in Campo de Ourique is easy at night.',
];
export const TRAIN: Exchange = [
  'We would rather not drive. How do we get to Sintra?',
  'Take the train from Rossio: every 20 minutes, 40 minutes, 2.30 euros each way. Leave before 9:00, because the palace fills up by 11:00.',
];

export const ORDERS_FILE = 'orders.ts';
export const ORDERS_BEFORE = `export function total(orders: Order[]): number {
  let sum = 0;
  for (const order of orders) {
    sum += order.amount;
    if (order.retried) sum += order.amount;
  }
  return sum;
}
`;
export const BUG: readonly Exchange[] = [
  [
    'Our report counts some orders twice since Tuesday. Can you find out why? The code is in orders.ts.',
    { text: 'I will read the file first.', calls: [{ name: 'read_file', input: { path: ORDERS_FILE } }] },
    'Found it. An order with `retried: true` is added twice: once by `sum += order.amount`, and again in the `if` below it. Retries were introduced on Tuesday. Shall I remove the second addition?',
  ],
  [
    'Yes, please.',
    {
      calls: [
        {
          name: 'edit_file',
          input: {
            path: ORDERS_FILE,
            old_string: '    if (order.retried) sum += order.amount;\n',
            new_string: '',
          },
        },
      ],
    },
    'Done. `total` now adds every order once:\n\n```ts\nfor (const order of orders) {\n  sum += order.amount;\n}\n```\n\nPlease run the report for Tuesday again: it should show 312 orders instead of 341.',
  ],
];

/** A long project: its compaction saves most of the tokens, and the report lists the exact figures the summary lost. */
export const HOUSE: readonly Exchange[] = [
  [
    'I want to build a garden house next to the apple tree. The spot is about 4 by 3 meters. Please help me plan it.',
    `Good. Three sizes fit:

- 3.00 x 2.40 m: enough for tools and two bicycles, but too small for a table.
- 3.60 x 2.40 m: leaves 30 cm to walk around it, and boards of 2.40 m need no cutting.
- 4.00 x 3.00 m: fills the spot, so you cannot paint the back wall later.

I suggest 3.60 x 2.40 m, which is 8.64 m2. In most places you need no permit below 10 m2, but please ask your town, also about the distance to the fence.`,
  ],
  [
    'The town says up to 10 m2 without a permit, but 2.50 m away from the fence. The letter has the number BA-7731.',
    `Then move the house 40 cm towards the tree. That keeps 2.60 m to the fence. The thick roots of an apple tree of this age begin about 1.20 m from the trunk, and the nearest footing is 1.90 m away.

Keep the letter BA-7731 with your papers: a buyer of the house will ask for it.`,
  ],
  [
    'Now the foundation. The soil is clay, and we have hard winters.',
    `Clay holds water and lifts a slab when it freezes, so use footings that reach below the frost line:

- Nine concrete footings, 30 x 30 cm and 80 cm deep, in three rows of three.
- 0.65 m3 of concrete, about 1,430 kg. Order it ready-mixed: mixing 57 bags by hand takes two days.
- Nine post anchors for posts of 10 cm, and a string line to set them level.
- 15 cm of gravel under each footing, so that water drains away.`,
  ],
  [
    'My budget is 4,800 euros in total.',
    `That works. Prices from the two dealers you named:

| part | euros |
|---|---|
| footings and gravel | 310 |
| frame | 940 |
| boards | 1,120 |
| roof | 680 |
| door and two windows | 890 |
| screws, oil, small parts | 240 |

That is 4,180 euros and leaves 620 as a reserve. Delivery is included in both offers.`,
  ],
  [
    'Compare larch with spruce for the frame.',
    `Larch costs 260 euros more. It lasts about 25 years without paint; spruce needs a new coat every third year, about 70 euros and one weekend each time. The weather side of your garden is the west wall, where spruce would suffer first.

After four coats larch is cheaper, so I suggest larch for the frame and the west wall, and spruce for the other three walls.`,
  ],
  [
    'Larch everywhere, then. I ordered the wood today: order number GH-20418, delivery on May 14.',
    `Noted: GH-20418, May 14. The truck has a crane arm of 6 m, so it can lift the wood over the hedge if the car is not in the drive.

Pour the footings by May 2: the concrete needs twelve days before it carries the frame. Store the boards on battens under a roof, with air between the layers, or they twist.`,
  ],
  [
    'I would like a green roof.',
    `A green roof weighs about 95 kg per m2 when wet, which is 820 kg on yours. Three things change:

- Rafters of 8 x 16 cm instead of 6 x 12 cm, about 190 euros more.
- A slope of 5 degrees instead of 15, so that nothing slides.
- A root barrier over the sealing, 96 euros.

All of it fits into the reserve of 620 euros. Tell the dealer before May 7, because rafters are cut a week before delivery.`,
  ],
  [
    'Do that. Suggest plants that need no care.',
    `Sedum mats: 8 cm of substrate, watering in the first summer only, and a cut every second autumn. Calculate 42 euros per m2, so 363 euros for the roof.

That is 29 euros more than what is left of your reserve. Seeds instead of mats cost 60 euros and look bare for one year. With seeds 274 euros remain.`,
  ],
  [
    'Seeds are fine. I called the dealer: the rafters are changed, the new order number is GH-20511.',
    `Good, GH-20511 replaces GH-20418. The delivery stays on May 14, and the total of the order is now 2,250 euros.

Please check on the delivery note that it lists 12 rafters of 8 x 16 cm and 3.00 m. The old note listed 9.`,
  ],
  [
    'My neighbor asks me to keep the drain free. It runs along the fence, 60 cm deep.',
    `It does not touch the house: your footings are 2.60 m from the fence. Two points are close, though. The truck must not stand on it, and the trench for the cable crosses it once.

Lay the cable in a pipe, 80 cm deep, and cross the drain below it at a right angle. Mark the crossing on your plan.`,
  ],
  [
    'Electricity: I want two lights and one socket.',
    `Take a buried cable of 5 x 2.5 mm2 from the fuse box, 18 m long, in a trench of 80 cm with a warning tape 30 cm above it. Use a residual-current breaker of 30 mA and weatherproof sockets (IP44).

An electrician has to connect it and sign the form E-112. That costs about 180 euros, which leaves 94 euros in your reserve.`,
  ],
  [
    'Ben helps me on weekends. Make a schedule.',
    `Weekend 1: mark the corners and dig the nine holes. Weekend 2: pour the footings. Weekend 4: frame. Weekend 5: roof. Weekend 6: boards, door and windows. The trench for the cable fits into weekend 3, while the concrete hardens.`,
  ],
  [
    'The west wall gets a window too.',
    'Better not: rain comes from there. Put both windows to the south and the door to the east, towards the house.',
  ],
];
export const HOUSE_SUMMARY = `## Goal
Build a garden house of 3.60 x 2.40 m next to the apple tree, 2.60 m from the fence. No permit is needed (letter BA-7731).

## Decided
- Nine concrete footings 80 cm deep, poured by May 2.
- Larch for the frame and all walls, green roof with sedum seeds, rafters of 8 x 16 cm.
- The wood is ordered: GH-20511 (replaces GH-20418), 2,250 euros, delivery on May 14. Check that 12 rafters are on the note.
- Budget 4,800 euros; 94 euros are left as a reserve.
- The cable runs in a pipe below the neighbor's drain. An electrician signs the form E-112.

## Open
- The color of the door.`;
export const HOUSE_AFTER: Exchange = [
  'When does the wood arrive, and what has to be finished before that?',
  'On May 14, order GH-20511. The nine footings have to be poured by May 2, so that the concrete is hard when you set up the frame. The trench for the cable is best dug in the weekend after that.',
];

export const CHINESE: readonly Exchange[] = [
  [
    '我想三个月学会基础日语，每天只有四十分钟，怎么安排？',
    '可以这样安排：前两周学完五十音图；之后每天十五分钟背单词，十五分钟学语法，十分钟听力。第六周开始每周末写一篇一百字的日记。',
  ],
  [
    '单词用什么方法记得最牢？',
    '用间隔重复：当天、第二天、第四天、第七天各复习一次。每天新词不要超过十五个，并且每个词都造一个自己的句子。',
  ],
  ['我周三晚上没有时间。', '那么周三只做十分钟复习，把新内容移到周六早上。一周的总量不变。'],
];

export const FAMILY: readonly (readonly [sender: string, question: string, answer: string])[] = [
  [
    'Ada',
    'Grandma turns 80 on Saturday. Can you collect who brings what?',
    'Gladly. So far: nothing yet. Who starts?',
  ],
  ['Ben', 'I bring the cake, chocolate and pears.', 'Noted: Ben brings a chocolate and pear cake.'],
  [
    'Ada',
    'I take care of the flowers. What is still missing?',
    'So far: Ben brings the cake, Ada the flowers. Drinks and a present are still missing.',
  ],
];

export const RECIPES: readonly Exchange[] = [
  [
    'How do I keep pancakes from sticking?',
    'Heat the pan for three minutes before the first one, and use a teaspoon of butter for each. The first pancake tests the heat.',
  ],
  [
    'And the batter?',
    'For four people: 250 g of flour, 500 ml of milk, 3 eggs and a pinch of salt. Let it rest for 30 minutes.',
  ],
  [
    'What goes with them in autumn?',
    'Plums: halve 400 g, stew them for 8 minutes with two spoons of sugar and a cinnamon stick.',
  ],
];
