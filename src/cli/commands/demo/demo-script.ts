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

/** Long enough for a compaction: the summary keeps the plan and drops some exact figures. */
export const HOUSE: readonly Exchange[] = [
  [
    'I want to build a garden house next to the apple tree. The spot is about 4 by 3 meters.',
    'Then 3.60 x 2.40 m is a good size: it leaves 30 cm to walk around it, and standard boards of 2.40 m need no cutting. In most places you need no permit below 10 m2, and this is 8.64 m2. Please check the rules of your town.',
  ],
  [
    'The town says up to 10 m2 without a permit, but 2.5 m away from the fence.',
    'Then move the house 40 cm towards the tree. That keeps 2.60 m to the fence, and the roots begin about 1.20 m from the trunk.',
  ],
  [
    'What do I need for the foundation?',
    'Nine concrete footings, 30 x 30 cm and 80 cm deep because of frost. That is 0.65 m3 of concrete, about 1,430 kg: order it ready-mixed. Nine post anchors of 10 cm.',
  ],
  [
    'My budget is 4,800 euros in total.',
    'That works. Footings 310, frame of larch 940, boards 1,120, roof 680, door and two windows 890, screws and oil 240. That is 4,180 euros and leaves 620 as a reserve.',
  ],
  [
    'Larch or spruce for the frame?',
    'Larch. It costs 260 euros more, lasts about 25 years without paint, and the weather side of your garden is the west wall.',
  ],
  [
    'I ordered the wood. Order number GH-20418, delivery on May 14.',
    'Noted: GH-20418, May 14. Pour the footings by May 2 then, because the concrete needs twelve days before it carries the frame.',
  ],
  [
    'Should the roof be green?',
    'A green roof weighs about 95 kg per m2 when wet, which is 820 kg on yours. The frame would need 8 x 16 cm rafters instead of 6 x 12 cm, about 190 euros more. It is possible within your reserve.',
  ],
  [
    'Let us do that. Which plants?',
    'Sedum mats: 8 cm of substrate, no watering after the first summer. Calculate 42 euros per m2, so 363 euros for the roof.',
  ],
  [
    'Ben helps me on weekends. What do we do first?',
    'Weekend 1: mark the corners and dig the nine holes. Weekend 2: pour the footings. Weekend 4: frame. Weekend 5: roof. Weekend 6: boards, door and windows.',
  ],
  [
    'The west wall gets a window too?',
    'Better not: rain comes from there. Put both windows to the south and the door to the east, towards the house.',
  ],
];
export const HOUSE_SUMMARY = `The user builds a garden house behind the apple tree.

Decided: 3.60 x 2.40 m, no permit needed below 10 m2, 2.60 m to the fence. Nine concrete footings 80 cm deep, poured by May 2. Frame of larch. Budget 4,800 euros. The wood is ordered: GH-20418, delivery on May 14. Green roof with sedum and stronger rafters. Ben helps on weekends; the frame is planned for weekend 4.

Open: nothing was decided about electricity.`;
export const HOUSE_AFTER: Exchange = [
  'When does the wood arrive, and what has to be finished before that?',
  'On May 14, order GH-20418. The nine footings have to be poured by May 2, so that the concrete is ready when you set up the frame.',
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
