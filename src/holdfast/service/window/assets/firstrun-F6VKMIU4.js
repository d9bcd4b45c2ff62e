import{a,b}from"./chunk-YQEIR3XM.js";import"./chunk-FI66AMH3.js";import"./chunk-SQE76S5B.js";export{b as GetStarted,a as default};
